import { existsSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import {
  durationMs,
  listUsage,
  USAGE_GROUPINGS,
  type UsageAnswer,
  type UsageGrouping,
  type UsageRow,
  usageAnswer,
} from './adapters/web/usage.js';
import { type Config, type LoadConfigOptions, loadConfig, secretsOf } from './config.js';
import { cleanText } from './core/chat/clean-text.js';
import { displayWidth } from './core/chat/text-table.js';
import { StoreError, ThreadloopError, toError } from './core/errors.js';
import { createLogger } from './logger.js';

interface UsageQuery {
  readonly by: UsageGrouping;
  /** Such as `7d`. */
  readonly since: string;
}

interface UsageOptions extends UsageQuery {
  readonly json?: boolean;
  readonly config?: string;
  readonly port?: number;
}

export interface UsageCommandOptions {
  readonly env: LoadConfigOptions['env'];
  /** The options this command shares with others. */
  readonly shared: readonly Option[];
}

const GATEWAY_MS = 15_000;

/** Adds `threadloop usage`: sums of requests, tokens and cost, as a table or as the JSON of `GET /api/usage`. */
export function addUsageCommand(program: Command, { env, shared }: UsageCommandOptions): void {
  const command = program
    .command('usage')
    .description('sum up requests, tokens and cost')
    .addOption(new Option('--by <group>', 'what each line stands for').choices(USAGE_GROUPINGS).default('model'))
    .option('--since <time>', 'how far back: a number and s, m, h, d or w', timeSpan, '7d')
    .option('--json', 'print JSON instead of a table');
  for (const option of shared) command.addOption(option);
  command.action(async ({ by, since, json, config: file, port }: UsageOptions) => {
    const config = loadConfig({ file, env, port });
    const answer = await readUsage(config, { by, since }, (line) => process.stderr.write(`${line}\n`));
    process.stdout.write(json ? `${JSON.stringify(answer, null, 2)}\n` : usageTable(answer, since));
  });
}

function timeSpan(text: string): string {
  try {
    durationMs(text);
  } catch (thrown) {
    throw new InvalidArgumentError(thrown instanceof ThreadloopError ? (thrown.hint ?? '') : '');
  }
  return text;
}

/**
 * Reads the configured store. The embedded one belongs to one process at a time: when that is a running gateway, the
 * gateway is asked instead, at the address the configuration names.
 *
 * @param note gets lines for a person beside the answer.
 * @throws StoreError as opening the store does, ThreadloopError `gateway_…` when a running gateway does not tell.
 */
export async function readUsage(config: Config, query: UsageQuery, note: (line: string) => void): Promise<UsageAnswer> {
  const { redisUrl, postgresUrl, dataDir } = config.store;
  if (!redisUrl && !postgresUrl && !existsSync(dataDir)) {
    note(`Nothing is stored in ${dataDir} yet.`);
    return listUsage({ usage: async () => [] }, query);
  }
  const logger = createLogger({ level: 'error', format: 'lines' });
  for (const secret of secretsOf(config)) logger.registerSecret(secret);
  const { openDeployment } = await import('./jobs/deployment.js');
  const opening = openDeployment({ ...config.store, logger, onProgress: note });
  const deployment = await opening.catch((thrown: unknown) => {
    if (thrown instanceof StoreError && thrown.code === 'store_locked') return undefined;
    throw thrown;
  });
  if (!deployment) return askGateway(config, query, note);
  try {
    return await listUsage(deployment.store.conversations, query);
  } finally {
    await deployment.close();
  }
}

async function askGateway({ http, store }: Config, query: UsageQuery, note: (line: string) => void) {
  const origin = `http://${reachable(http.host)}:${http.port}`;
  note(`A running gateway uses ${store.dataDir}, so it is asked: ${origin}`);
  const headers: Record<string, string> = http.token ? { Authorization: `Bearer ${http.token}` } : {};
  const path = `/api/usage?${new URLSearchParams({ by: query.by, since: query.since })}`;
  const signal = AbortSignal.timeout(GATEWAY_MS);
  const response = await fetch(origin + path, { headers, signal, redirect: 'error' }).catch((cause: unknown) => {
    throw new ThreadloopError(`the gateway does not answer at ${origin}: ${reasonOf(toError(cause))}`, {
      code: 'gateway_unreachable',
      hint: 'If it was started with --port, give the same port here; or stop it first.',
      cause,
    });
  });
  const body: unknown = await response.json().catch(() => undefined);
  const parsed = usageAnswer.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new ThreadloopError(`what listens at ${origin} does not tell the usage (status ${response.status})`, {
    code: 'gateway_refused',
    hint:
      response.status === 401
        ? 'It was started with another token: set the same http.token (or THREADLOOP_TOKEN) here.'
        : 'It must be the gateway that uses this data directory, with adapters.web.enabled; or stop it first.',
  });
}

/** An address to listen on as one to call. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}

/** `fetch` says only that it failed; the cause says why. */
function reasonOf({ message, cause }: Error): string {
  return cause instanceof Error && cause.message ? cause.message : message;
}

type Column = readonly [title: string, cell: (row: UsageRow) => string];

/** The sums as lines for a terminal, dearest first; costs are in the currency of the configured prices. */
export function usageTable({ by, rows, total, complete }: UsageAnswer, since: string): string {
  if (rows.length === 0) return `No usage in the last ${since}.\n`;
  const columns: readonly Column[] = [
    [by, ({ key }) => nameOf(key, by)],
    ['requests', ({ requests }) => whole(requests)],
    ['tokens in', ({ inputTokens }) => whole(inputTokens)],
    ['tokens out', ({ outputTokens }) => whole(outputTokens)],
    ['priced tool calls', ({ toolCalls }) => whole(toolCalls)],
    ['cost', ({ cost }) => money(cost)],
    ['of it tools', ({ sources }) => money(sources.tool)],
    ['compression', ({ sources }) => money(sources.compression)],
  ];
  const cells = [...rows, total].map((row) => columns.map(([, cell]) => cell(row)));
  const widths = columns.map(([title], at) =>
    Math.max(...[title, ...cells.map((row) => row[at] ?? '')].map(displayWidth)),
  );
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => padded(cell, widths[at] ?? 0, at === 0))
      .join('  ')
      .trimEnd();
  const ruler = widths.map((width) => '─'.repeat(width)).join('  ');
  const body = cells.map(line);
  const lines = [line(columns.map(([title]) => title)), ruler, ...body.slice(0, -1), ruler, ...body.slice(-1)];
  const warning = 'There is more than one look can read: the newest is missing. Choose a shorter --since.';
  return [...lines, ...(complete ? [] : [warning]), ''].join('\n');
}

/** Names come from outside; they must not steer the terminal. */
function nameOf(key: string, by: UsageGrouping): string {
  if (key === '') return by === 'tool' ? '(no tool)' : '(tools themselves)';
  return cleanText(key).replace(/\s+/g, ' ');
}

function padded(text: string, width: number, left: boolean): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return left ? text + space : space + text;
}

function whole(count: number): string {
  return count.toLocaleString('en-US');
}

function money(cost: number): string {
  return cost.toFixed(4);
}
