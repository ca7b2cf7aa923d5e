import pg from 'pg';
import { StoreError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import type { Store } from '../../../core/ports/store.js';
import { attemptUntil, pingMs } from '../attempts.js';
import { bareSqlError, createSql, isPassing } from './connection.js';
import { createSqlConversations } from './conversations.js';
import { migrate } from './migrations.js';
import { createSqlBoard, createSqlBudgets, createSqlLeases, createSqlRecords } from './side-stores.js';

export interface SqlStoreOptions {
  /** Connections to PostgreSQL 13 or newer, or to PGlite. May be shared; it is not ended here. */
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** Called once by `Store.close`, e.g. to end the pool. */
  readonly close?: (() => Promise<void>) | undefined;
  /** What errors call the database; must hold no credentials. */
  readonly name?: string | undefined;
  /** A call gives up after this many ms without an answer. */
  readonly timeoutMs?: number | undefined;
  /** Opening gives up after this many ms without an answer. */
  readonly openTimeoutMs?: number | undefined;
}

const DEFAULTS = { name: 'the database', timeoutMs: 15_000, connectTimeoutMs: 5_000, connections: 10 } as const;

/**
 * Opens the store on a SQL database and brings its schema `threadloop` up to date. Connections that are lost later are
 * made again and calls wait for them up to `timeoutMs`; every call is harmless when it arrives twice.
 *
 * @throws StoreError when the database cannot be used: `store_unreachable` (after 5 s by default), `store_unauthorized`,
 *   `store_version`, `store_schema`.
 */
export async function createSqlStore(options: SqlStoreOptions): Promise<Store> {
  const { pool, logger, name = DEFAULTS.name, timeoutMs = DEFAULTS.timeoutMs } = options;
  const sql = createSql({ pool, logger, name, timeoutMs });
  await attemptUntil({
    timeoutMs: options.openTimeoutMs ?? DEFAULTS.connectTimeoutMs,
    attempt: (leftMs) => sql.withClient(migrate, leftMs),
    transient: isPassing,
    failed: (error) => openError(error, name),
  });
  let closing: Promise<void> | undefined;
  return {
    conversations: createSqlConversations(sql, logger),
    records: createSqlRecords(sql),
    leases: createSqlLeases(sql),
    board: createSqlBoard(sql),
    budgets: createSqlBudgets(sql),
    ping: async () => {
      await sql.rows('SELECT 1', [], pingMs(timeoutMs));
    },
    close() {
      sql.close();
      closing ??= options.close?.() ?? Promise.resolve();
      return closing;
    },
  };
}

export interface PostgresStoreOptions {
  /** `postgres://user:password@host:5432/database`; credentials never appear in errors or logs. */
  readonly url: string;
  readonly logger: Logger;
  /** Connections this process may open for the store. */
  readonly connections?: number | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Opens the store on PostgreSQL; `close` of the store ends the pool.
 *
 * @throws StoreError as {@link createSqlStore}, and `store_url`.
 */
export async function createPostgresStore(options: PostgresStoreOptions): Promise<{ store: Store; pool: pg.Pool }> {
  const name = `PostgreSQL at ${postgresAddress(options.url)}`;
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: 'threadloop',
    max: options.connections ?? DEFAULTS.connections,
    connectionTimeoutMillis: DEFAULTS.connectTimeoutMs,
    keepAlive: true,
  });
  const { logger, timeoutMs } = options;
  try {
    const store = await createSqlStore({ pool, logger, name, timeoutMs, close: () => pool.end() });
    return { store, pool };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** Host, port and database of a URL, without credentials. */
function postgresAddress(url: string): string {
  if (!/^postgres(ql)?:\/\//.test(url) || !URL.canParse(url)) {
    throw new StoreError('the PostgreSQL URL is not usable', {
      code: 'store_url',
      hint: 'write it as postgres://user:password@host:5432/database',
    });
  }
  const { host, pathname, searchParams } = new URL(url);
  return `${host || (searchParams.get('host') ?? 'localhost')}${pathname}`;
}

const NO_DATABASE = '3D000';

function openError(thrown: Error, name: string): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const error = bareSqlError(thrown);
  const state = 'code' in error ? error.code : undefined;
  if (state === '28P01' || state === '28000') {
    return new StoreError(`${name} refuses the credentials: ${error.message}`, {
      code: 'store_unauthorized',
      hint: 'check user and password in store.postgresUrl (DATABASE_URL)',
      cause: error,
    });
  }
  if (state !== NO_DATABASE && !isPassing(error)) {
    return new StoreError(`${name} cannot be prepared: ${error.message}`, { code: 'store_failed', cause: error });
  }
  return new StoreError(`${name} cannot be reached: ${error.message}`, {
    code: 'store_unreachable',
    hint: 'start it, or correct store.postgresUrl (DATABASE_URL); without it the embedded store is used',
    cause: error,
  });
}
