import type pg from 'pg';
import { StoreError, toError } from '../../../core/errors.js';
import { CONVERSATION_FUNCTIONS } from './schema-1-functions.js';
import { SIDE_FUNCTIONS } from './schema-1-side-functions.js';
import { TABLES } from './schema-1-tables.js';

/** Any number; processes that start together take turns by it. */
const LOCK = 7_248_501_293;
/** BullMQ's PostgreSQL backend needs 13 as well. */
const OLDEST_SERVER = 130_000;
const FORBIDDEN = '42501';

/** In order; the version is the place in the list, starting at 1. A released entry is never changed, only followed. */
const MIGRATIONS: readonly string[] = [TABLES + CONVERSATION_FUNCTIONS + SIDE_FUNCTIONS];

type Client = Pick<pg.ClientBase, 'query'>;

/**
 * Brings schema `threadloop` to the newest version, each step in its own transaction. Harmless when repeated or run by
 * several processes at once.
 *
 * @throws StoreError `store_version` (server too old), `store_schema` (made by a newer Threadloop, or no rights).
 */
export async function migrate(client: Client): Promise<void> {
  await checkServerVersion(client);
  if ((await currentVersion(client)) >= MIGRATIONS.length) return;
  for (let done = false; !done; ) {
    await client.query('BEGIN');
    try {
      await client.query("SET LOCAL lock_timeout = '60s'");
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      done = await nextStep(client);
      await client.query('COMMIT');
    } catch (thrown) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw migrationError(toError(thrown));
    }
  }
}

/** True when nothing is left to do. The caller holds the lock. */
async function nextStep(client: Client): Promise<boolean> {
  const version = await currentVersion(client);
  const step = MIGRATIONS[version];
  if (step === undefined) return true;
  if (version === 0) {
    await client.query(`CREATE SCHEMA IF NOT EXISTS threadloop;
      CREATE TABLE threadloop.schema_version (version integer PRIMARY KEY, applied timestamptz NOT NULL DEFAULT now())`);
  }
  await client.query(step);
  await client.query('INSERT INTO threadloop.schema_version (version) VALUES ($1)', [version + 1]);
  return version + 1 === MIGRATIONS.length;
}

async function currentVersion(client: Client): Promise<number> {
  // Not to_regclass: it may answer from a cache that does not know yet what the last holder of the lock has made.
  const table = await client.query<{ found: boolean }>(`SELECT EXISTS (
    SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = 'threadloop' AND tablename = 'schema_version') AS found`);
  if (!table.rows[0]?.found) return 0;
  const newest = await client.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM threadloop.schema_version',
  );
  const version = newest.rows[0]?.version ?? 0;
  if (version <= MIGRATIONS.length) return version;
  throw new StoreError(`the database has schema version ${version}, this Threadloop knows ${MIGRATIONS.length}`, {
    code: 'store_schema',
    hint: 'start the newer Threadloop that made it',
  });
}

async function checkServerVersion(client: Client): Promise<void> {
  const answer = await client.query<{ number: number; name: string }>(
    "SELECT current_setting('server_version_num')::integer AS number, current_setting('server_version') AS name",
  );
  const server = answer.rows[0];
  if (server === undefined || server.number >= OLDEST_SERVER) return;
  throw new StoreError(`PostgreSQL ${server.name} is too old`, {
    code: 'store_version',
    hint: `use PostgreSQL ${OLDEST_SERVER / 10_000} or newer`,
  });
}

function migrationError(error: Error): Error {
  if (!('code' in error) || error.code !== FORBIDDEN) return error;
  return new StoreError(`the schema "threadloop" cannot be made: ${error.message}`, {
    code: 'store_schema',
    hint: 'allow it with: GRANT CREATE ON DATABASE <name> TO <user>',
    cause: error,
  });
}
