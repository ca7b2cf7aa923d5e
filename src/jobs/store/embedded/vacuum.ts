import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientConfig } from 'pg';
import { toError } from '../../../core/errors.js';
import type { Logger } from '../../../core/ports/logger.js';

export interface Vacuum {
  /** Resolves when nothing is under way any more. */
  stop(): Promise<void>;
}

const TABLES = `
  SELECT format('%I.%I', n.nspname, c.relname) AS name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.relkind = 'r' AND n.nspname !~ '^(pg_|information_schema$)'`;

/**
 * Frees the space of replaced and deleted rows now and then; the embedded PostgreSQL has no autovacuum. One short
 * statement for each table, so that nobody waits long.
 */
export function startVacuum(config: ClientConfig, everyMs: number, logger: Logger): Vacuum {
  const stop = new AbortController();

  async function pass(): Promise<void> {
    // Loaded here, because the database opens before anybody needs its driver.
    const { default: pg } = await import('pg');
    const client = new pg.Client(config);
    // A connection that breaks between two statements; the next statement reports it.
    client.on('error', () => undefined);
    await client.connect();
    try {
      const { rows } = await client.query<{ name: string }>(TABLES);
      for (const { name } of rows) {
        if (stop.signal.aborted) return;
        await client.query(`VACUUM (ANALYZE) ${name}`);
      }
    } finally {
      await client.end();
    }
  }

  async function loop(): Promise<void> {
    for (;;) {
      await sleep(everyMs, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
      if (stop.signal.aborted) return;
      await pass().catch((thrown) => {
        logger.warn(
          { error: toError(thrown).message },
          'cleaning up the embedded database failed; it is tried again later',
        );
      });
    }
  }

  const ended = loop();
  return {
    stop() {
      stop.abort();
      return ended;
    },
  };
}
