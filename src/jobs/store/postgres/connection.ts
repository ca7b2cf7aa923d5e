import type pg from 'pg';
import { StoreError, toError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';
import { attemptMs, attemptUntil, within } from '../attempts.js';

export interface SqlOptions {
  readonly pool: pg.Pool;
  readonly logger: Logger;
  /** What errors call the database; without credentials. */
  readonly name: string;
  /** A call gives up after this many ms. */
  readonly timeoutMs: number;
}

export interface Sql {
  /**
   * Runs one statement, again and again over a lost connection until it is answered or the time is up; so a statement
   * must be harmless when repeated.
   *
   * @throws StoreError `store_timeout`, `store_full`, `store_closed` or `store_failed`.
   */
  rows<Row extends pg.QueryResultRow>(text: string, values?: unknown[], limitMs?: number): Promise<readonly Row[]>;
  /** The same for a statement that always gives a row. */
  row<Row extends pg.QueryResultRow>(text: string, values?: unknown[]): Promise<Row>;
  /** Work on one client that is not repeated; for migrations. Rejects with the driver's own errors. */
  withClient<T>(work: (client: pg.PoolClient) => Promise<T>, leftMs: number): Promise<T>;
  close(): void;
}

/**
 * Errors a later try may not meet: connection lost (08), shutdown, crash and start-up (57P), too many connections,
 * deadlock, serialisation, and a server that has just become a replica.
 */
const PASSING_STATE = /^(08...|57P0.|53300|40001|40P01|25006)$/;
const FULL_STATE = /^(53100|53200)$/;
const LOST_CONNECTION =
  /^(Connection terminated|Client has encountered|Connection ended|Query read timeout|timeout exc)/;
const NO_CLIENT = 'no connection became free';

function sqlState(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** True when a later try may pass. */
export function isPassing(error: Error): boolean {
  const state = sqlState(error);
  if (state !== undefined && /^[0-9A-Z]{5}$/.test(state)) return PASSING_STATE.test(state);
  // Node's own errors: ECONNREFUSED, EPIPE, ENOENT of a socket, ENOTFOUND …
  if (state !== undefined) return state.startsWith('E');
  return LOST_CONNECTION.test(error.message) || error.message === NO_CLIENT;
}

/** Statements over a pool that may lose its connections at any time. */
export function createSql(options: SqlOptions): Sql {
  const { pool, logger, name, timeoutMs } = options;
  let closed = false;
  // Without a listener an idle connection that breaks would end the process.
  const idleError = (error: Error) => {
    if (!closed) logger.warn({ database: name, error: error.message }, 'a database connection is lost');
  };
  pool.on('error', idleError);

  const withClient: Sql['withClient'] = async (work, leftMs) => {
    const client = await freeClient(pool, leftMs);
    const broken = new AbortController();
    const onError = () => broken.abort();
    client.on('error', onError);
    try {
      const result = await work(client);
      client.release(broken.signal.aborted);
      return result;
    } catch (thrown) {
      const error = toError(thrown);
      // A client whose answer never came or whose connection broke is not used again.
      client.release(broken.signal.aborted || isPassing(error));
      throw error;
    } finally {
      client.off('error', onError);
    }
  };

  const rows: Sql['rows'] = (text, values, limitMs = timeoutMs) =>
    attemptUntil({
      timeoutMs: limitMs,
      attempt: async (leftMs) => {
        if (closed) throw closedError();
        const limit = Math.max(1, Math.min(leftMs, attemptMs(timeoutMs)));
        const query = { text, ...(values && { values }), query_timeout: limit };
        return await withClient(async (client) => (await client.query(query)).rows, limit);
      },
      transient: (error) => !closed && isPassing(error),
      failed: (error) => (closed ? closedError() : callError(error, name, limitMs)),
    });

  return {
    rows,
    async row<Row extends pg.QueryResultRow>(text: string, values?: unknown[]) {
      const [first] = await rows<Row>(text, values);
      if (first === undefined) throw new StoreError(`${name} gave no row`, { code: 'store_failed' });
      return first;
    },
    withClient,
    close() {
      closed = true;
      // The listener stays: connections may still break while the pool ends.
    },
  };
}

/** A connection of the pool, or an error after `ms`; one that comes later goes back unused. */
async function freeClient(pool: pg.Pool, ms: number): Promise<pg.PoolClient> {
  const asked = pool.connect();
  let late = false;
  const giveBack = (client: pg.PoolClient) => {
    if (late) client.release();
  };
  asked.then(giveBack, () => undefined);
  return await within(asked, ms, () => {
    late = true;
    return new Error(NO_CLIENT);
  });
}

function closedError(): StoreError {
  return new StoreError('the store is closed', { code: 'store_closed' });
}

/** The driver's errors carry details of rows, that is people's texts: only message and state go on. */
export function bareSqlError(error: Error): Error {
  const state = sqlState(error);
  return Object.assign(new Error(error.message || state), state !== undefined && { code: state });
}

function callError(thrown: Error, name: string, timeoutMs: number): StoreError {
  if (thrown instanceof StoreError) return thrown;
  const error = bareSqlError(thrown);
  if (isPassing(error)) {
    return new StoreError(`${name} did not answer within ${timeoutMs} ms: ${error.message}`, {
      code: 'store_timeout',
      hint: 'check that the database runs and is not overloaded',
      cause: error,
    });
  }
  if (FULL_STATE.test(sqlState(error) ?? '')) {
    return new StoreError(`${name} accepts no writes: ${error.message}`, {
      code: 'store_full',
      hint: 'give the database more disk space',
      cause: error,
    });
  }
  return new StoreError(`${name} refused a statement: ${error.message}`, { code: 'store_failed', cause: error });
}
