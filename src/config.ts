import { stringify } from 'yaml';
import { z } from 'zod';
import { checkReferences } from './config/checks.js';
import { type ConfigIssue, describeIssues, issueLines } from './config/issues.js';
import { mapLeaves, type SchemaNode } from './config/json-schema.js';
import { type Environment, fillPlaceholders, variable } from './config/placeholders.js';
import { type Config, configShape } from './config/schema.js';
import { fillFromEnvironment, listAdapters, readSource } from './config/source.js';
import { ConfigError } from './core/errors.js';

export { agentFor } from './config/routes.js';
export type { AgentConfig, Config, ModelConfig } from './config/schema.js';

export interface LoadConfigOptions {
  /** Wins over `THREADLOOP_CONFIG`; without both, `config.yaml` is read if it exists. */
  readonly file?: string | undefined;
  readonly env: Environment;
  /** Wins over `http.port`. */
  readonly port?: number | undefined;
}

const schema = z.toJSONSchema(configShape, { io: 'input' }) as SchemaNode;

/**
 * The checked configuration. Throws ConfigError whose `issues` are all the lines that are wrong, each with its path
 * and what to do. `models` is empty only when no model is configured at all; then the demo model answers.
 */
export function loadConfig({ file, env, port }: LoadConfigOptions): Config {
  const { draft: written, single } = listAdapters(readSource(file, env));
  const placeholders = fillPlaceholders(written, schema, env);
  const draft = withPort(fillFromEnvironment(asDraft(placeholders.value), env), port);
  const parsed = configShape.safeParse(draft);
  const explained = [...placeholders.issues, ...checkReferences(draft), ...checkModelVariables(draft, env)];
  const found = parsed.success ? [] : describeIssues(parsed.error, draft, schema);
  const issues = [...explained, ...found.filter((issue) => !isCovered(issue, explained))];
  if (parsed.success && issues.length === 0) return parsed.data;
  throw new ConfigError('the configuration has errors', {
    issues: issueLines(issues, single),
    hint: 'Correct the settings named above; docs/configuration.md lists every key.',
  });
}

/** The configuration as YAML, every default filled in and every secret masked. */
export function printConfig(config: Config): string {
  return stringify(mapLeaves(config, schema, (leaf, node) => (node?.secret ? masked(leaf) : leaf)));
}

/** Every secret in the configuration, also passwords inside URLs; a log must not show them. */
export function secretsOf(config: Config): readonly string[] {
  const secrets = new Set<string>();
  mapLeaves(config, schema, (leaf, node) => {
    if (!node?.secret || typeof leaf !== 'string') return leaf;
    const url = URL.canParse(leaf) ? new URL(leaf) : undefined;
    secrets.add(leaf);
    if (url?.password) secrets.add(url.password).add(decodeURIComponent(url.password));
    return leaf;
  });
  return [...secrets];
}

/** JSON schema of the file, for editors. A Telegram block may stand alone or in a list. */
export function configSchema(): Readonly<Record<string, unknown>> {
  return z.toJSONSchema(configShape, {
    io: 'input',
    override: ({ jsonSchema, path }) => {
      if (path.join('.') !== 'properties.adapters.properties.telegram') return;
      const { type, items, ...rest } = jsonSchema;
      if (!items || Array.isArray(items)) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
      Object.assign(jsonSchema, rest, { anyOf: [items, { type, items }] });
    },
  });
}

function asDraft(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function withPort(draft: Readonly<Record<string, unknown>>, port: number | undefined) {
  if (port === undefined) return draft;
  return { ...draft, http: { ...asDraft(draft.http), port } };
}

/** A model's name alone says nothing about where to send a key-less request. */
function checkModelVariables(draft: Readonly<Record<string, unknown>>, env: Environment): readonly ConfigIssue[] {
  const named = variable(env, 'OPENAI_MODEL');
  if (!named || variable(env, 'OPENAI_API_KEY') || variable(env, 'OPENAI_BASE_URL')) return [];
  const fromEnvironment = asDraft(asDraft(draft.models).default);
  if (fromEnvironment.model !== named || fromEnvironment.baseUrl !== undefined) return [];
  return [
    { path: [], text: 'OPENAI_MODEL is set alone; also set OPENAI_API_KEY, or OPENAI_BASE_URL for a local server' },
  ];
}

/** One line per setting: what is already explained at a path is not said again in the schema's words. */
function isCovered(issue: ConfigIssue, explained: readonly ConfigIssue[]): boolean {
  return explained.some(({ path }) => path.join('\0') === issue.path.join('\0'));
}

function masked(secret: unknown): unknown {
  if (typeof secret !== 'string') return secret;
  const url = URL.canParse(secret) ? new URL(secret) : undefined;
  if (!url?.host) return '***';
  return `${url.protocol}//${url.username || url.password ? '***@' : ''}${url.host}${url.pathname}`;
}
