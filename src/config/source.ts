import { existsSync, readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import { ConfigError, toError } from '../core/errors.js';
import { type Environment, variable } from './placeholders.js';

type Draft = Readonly<Record<string, unknown>>;

/** One mistake in YAML causes many errors after it; a file that is no YAML at all has one on every line. */
const MOST_ERRORS = 10;

/**
 * Reads the file as plain data. The file is the one asked for, else `THREADLOOP_CONFIG`, else `config.yaml` in the
 * working directory if there is one, else nothing. Throws ConfigError for a file that is named but cannot be read,
 * and for broken YAML.
 */
export function readSource(file: string | undefined, env: Environment): Draft {
  const path = file ?? variable(env, 'THREADLOOP_CONFIG') ?? (existsSync('config.yaml') ? 'config.yaml' : undefined);
  if (path === undefined) return {};
  const data = parse(read(path), path) ?? {};
  if (typeof data !== 'object' || Array.isArray(data)) {
    throw new ConfigError(`${path} must be a block of settings`, { hint: 'Start from config.example.yaml.' });
  }
  return { ...data };
}

function parse(text: string, path: string): unknown {
  const document = parseDocument(text, { prettyErrors: true });
  const broken = (issues: readonly string[], cause?: unknown): ConfigError =>
    new ConfigError(`${path} is not valid YAML`, {
      hint: 'Correct the lines named above; values with ": ", "#" or "{" in them need quotes.',
      issues,
      cause,
    });
  const first = document.errors.slice(0, MOST_ERRORS);
  if (first.length > 0) throw broken(first.map(({ message }) => message.split('\n')[0] ?? message));
  try {
    return document.toJS({ maxAliasCount: 100 });
  } catch (thrown) {
    throw broken([toError(thrown).message], thrown);
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    throw new ConfigError(`cannot read ${path}: ${toError(thrown).message}`, {
      hint: 'Name an existing file with --config or THREADLOOP_CONFIG, or leave both out.',
      cause: thrown,
    });
  }
}

/** Makes a single adapter block a list of one; names the settings where that was done, for messages about them. */
export function listAdapters(draft: Draft): { readonly draft: Draft; readonly single: ReadonlySet<string> } {
  const adapters = asBlock(draft.adapters);
  const telegram = adapters?.telegram;
  if (telegram === undefined || telegram === null || Array.isArray(telegram)) return { draft, single: new Set() };
  return {
    draft: { ...draft, adapters: { ...adapters, telegram: [telegram] } },
    single: new Set(['adapters.telegram']),
  };
}

/**
 * Fills from the environment what the file leaves out. The file wins; a whole `models` block in the file is taken as
 * it is, so that a key is never sent to an address it was not meant for.
 */
export function fillFromEnvironment(draft: Draft, env: Environment): Draft {
  return {
    ...draft,
    ...fill(draft, 'store', (block) => ({ ...storeFrom(block, env), ...block })),
    ...fill(draft, 'http', (block) => withDefault(block, 'token', variable(env, 'THREADLOOP_TOKEN'))),
    ...fill(draft, 'models', (block) => (Object.keys(block).length === 0 ? modelsFrom(env) : block)),
    ...fill(draft, 'adapters', (block) => ({ ...block, ...telegramFrom(block, env) })),
  };
}

function fill(draft: Draft, key: string, change: (block: Draft) => Draft): Draft {
  const block = draft[key] === undefined ? {} : asBlock(draft[key]);
  return block ? { [key]: defined(change(defined(block))) } : {};
}

function storeFrom(block: Draft, env: Environment): Draft {
  if (block.redisUrl !== undefined || block.postgresUrl !== undefined) return {};
  return { redisUrl: variable(env, 'REDIS_URL'), postgresUrl: variable(env, 'DATABASE_URL') };
}

function modelsFrom(env: Environment): Draft {
  const apiKey = variable(env, 'OPENAI_API_KEY');
  const baseUrl = variable(env, 'OPENAI_BASE_URL');
  const model = variable(env, 'OPENAI_MODEL');
  if (apiKey === undefined && baseUrl === undefined && model === undefined) return {};
  return { default: defined({ apiKey, baseUrl, model: model ?? 'gpt-5-mini' }) };
}

/** A token switches Telegram on; several bots are always written in the file. */
function telegramFrom(adapters: Draft, env: Environment): Draft {
  const blocks = adapters.telegram ?? [];
  const token = variable(env, 'TELEGRAM_BOT_TOKEN');
  if (!Array.isArray(blocks) || blocks.length > 1 || (blocks.length === 0 && token === undefined)) return {};
  const block = blocks.length === 0 ? {} : asBlock(blocks[0]);
  if (!block) return {};
  const users = variable(env, 'TELEGRAM_ALLOWED_USERS')
    ?.split(/[\s,]+/)
    .filter((id) => id !== '');
  const access = asBlock(block.access ?? {});
  const filled = access && users ? { ...block, access: withDefault(access, 'users', users) } : block;
  return { telegram: [withDefault(filled, 'botToken', token)] };
}

function withDefault(block: Draft, key: string, value: unknown): Draft {
  return value === undefined || block[key] !== undefined ? block : { ...block, [key]: value };
}

function defined(block: Draft): Draft {
  return Object.fromEntries(Object.entries(block).filter(([, value]) => value !== undefined));
}

function asBlock(value: unknown): Draft | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}
