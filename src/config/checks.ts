import { platforms } from '../adapters/index.js';
import { builtinTools } from '../core/tools/builtin/index.js';
import { isLoopback } from '../loopback.js';
import { type ConfigIssue, closest } from './issues.js';
import type { ConfigPath } from './json-schema.js';

type Draft = Readonly<Record<string, unknown>>;

/**
 * What no single setting can know: references between blocks and rules over several settings. Works on the draft
 * before zod has accepted it, so that one start reports everything that is wrong.
 */
export function checkReferences(draft: Draft): readonly ConfigIssue[] {
  const models = Object.keys(block(draft.models));
  return [
    ...checkAgents(draft, models.length === 0 ? ['default'] : models),
    ...checkRoutes(draft),
    ...checkStore(block(draft.store)),
    ...checkHttp(block(draft.http)),
    ...checkTelegram(list(block(draft.adapters).telegram), block(draft.http)),
  ];
}

const toolNames = builtinTools.map(({ name }) => name);

function checkAgents(draft: Draft, models: readonly string[]): ConfigIssue[] {
  const agents = Object.entries(block(draft.agents ?? { assistant: {} }));
  if (agents.length === 0) return [{ path: ['agents'], text: 'is empty; add an agent, or leave the block out' }];
  const names = agents.map(([name]) => name);
  const servers = Object.keys(block(draft.mcpServers));
  const folders = Object.keys(block(draft.knowledge));
  return agents.flatMap(([name, agent]) => {
    const { model = 'default', tools, compression, subAgents, mcpServers, knowledge, quoteTemplate } = block(agent);
    const unknown = (key: string, kind: string, given: unknown, known: readonly string[]): ConfigIssue[] =>
      list(given).flatMap((entry, index) =>
        typeof entry !== 'string' || known.includes(entry)
          ? []
          : [{ path: ['agents', name, key, index], text: unknownName(kind, entry, known) }],
      );
    const issues = [
      ...unknown('tools', 'tool', tools, toolNames),
      ...unknown('subAgents', 'agent', subAgents, names),
      ...unknown('knowledge', 'knowledge', knowledge, folders),
      ...unknown('mcpServers', 'MCP server', mcpServers, servers),
    ];
    for (const [key, given] of [
      ['model', model],
      ['compression', block(compression).model],
    ] as const) {
      if (typeof given !== 'string' || models.includes(given)) continue;
      const path: ConfigPath = ['agents', name, key, ...(key === 'compression' ? ['model'] : [])];
      issues.push({ path, text: unknownName('model', given, models) });
    }
    if (typeof quoteTemplate === 'string' && !/\{\{\s*quote\s*\}\}/.test(quoteTemplate)) {
      issues.push({ path: ['agents', name, 'quoteTemplate'], text: 'lacks {{quote}}, so nothing found would be seen' });
    }
    return issues;
  });
}

function checkRoutes(draft: Draft): ConfigIssue[] {
  const agents = Object.keys(block(draft.agents ?? { assistant: {} }));
  const issues: ConfigIssue[] = [];
  const known = Object.keys(platforms);
  let catchAll: number | undefined;
  for (const [index, entry] of list(draft.routes).entries()) {
    const { agent, adapter, account, channel } = block(entry);
    const path: ConfigPath = ['routes', index];
    if (typeof agent === 'string' && !agents.includes(agent)) {
      issues.push({ path: [...path, 'agent'], text: unknownName('agent', agent, agents) });
    }
    if (typeof adapter === 'string' && !known.includes(adapter)) {
      issues.push({ path: [...path, 'adapter'], text: unknownName('adapter', adapter, known) });
    }
    if (catchAll !== undefined) {
      issues.push({
        path,
        text: `never used, routes[${catchAll}] already matches everything; move this route above it`,
      });
    } else if (adapter === undefined && account === undefined && channel === undefined) {
      catchAll = index;
    }
  }
  return issues;
}

function checkStore({ redisUrl, postgresUrl }: Draft): ConfigIssue[] {
  if (redisUrl === undefined || postgresUrl === undefined) return [];
  return [{ path: ['store'], text: 'redisUrl and postgresUrl are both set; keep the one that holds the state' }];
}

/** On an address that other machines reach. */
const SHORTEST_TOKEN = 16;

function checkHttp({ host = '127.0.0.1', token }: Draft): ConfigIssue[] {
  if (typeof host !== 'string' || isLoopback(host)) return [];
  if (typeof token === 'string' && token.length < SHORTEST_TOKEN) {
    const text = `shorter than ${SHORTEST_TOKEN} characters, so it can be guessed; use the output of: openssl rand -hex 32`;
    return [{ path: ['http', 'token'], text }];
  }
  if (token !== undefined) return [];
  const text = `"${host}" can be reached from other machines and needs http.token; set THREADLOOP_TOKEN, or use 127.0.0.1`;
  return [{ path: ['http', 'host'], text }];
}

function checkTelegram(bots: readonly unknown[], http: Draft): ConfigIssue[] {
  const accounts = new Set<unknown>();
  return bots.flatMap((bot, index) => {
    const { account = 'default', mode } = block(bot);
    const issues: ConfigIssue[] = [];
    const path: ConfigPath = ['adapters', 'telegram', index];
    if (accounts.has(account)) {
      issues.push({ path: [...path, 'account'], text: `"${account}" is used twice; give each bot its own name` });
    }
    accounts.add(account);
    if (mode === 'webhook' && http.publicUrl === undefined) {
      const text = 'webhook needs http.publicUrl, the https address under which Telegram reaches this server';
      issues.push({ path: [...path, 'mode'], text });
    }
    return issues;
  });
}

function unknownName(kind: string, name: string, known: readonly string[]): string {
  const close = closest(name, known);
  if (close) return `no ${kind} is called "${name}"; did you mean "${close}"?`;
  return `no ${kind} is called "${name}"; known: ${known.join(', ')}`;
}

function block(value: unknown): Draft {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
