import { RETENTION_MS } from '../once-a-minute.js';
import type { Sql } from './connection.js';

/** Rows removed by one statement, so that no statement holds its locks for long. */
const BATCH = 10_000;

/** As a sub-select it is looked up once, so that the indexes serve. */
const NOW = '(SELECT threadloop.clock())';

const EXPIRED = [
  ['seen', `at < ${NOW} - ${RETENTION_MS.seen}`],
  ['choice', `closed < ${NOW} - ${RETENTION_MS.choices}`],
  ['usage', `at < ${NOW} - ${RETENTION_MS.usage}`],
  ['record', `expires <= ${NOW}`],
  ['lease', `expires <= ${NOW}`],
  ['budget', `arrival <= ${NOW}`],
] as const;

/** Removes rows nobody reads any more, one batch per table; what is left goes a minute later. */
export async function removeExpired(sql: Sql): Promise<void> {
  for (const [table, condition] of EXPIRED) {
    await sql.rows(
      `DELETE FROM threadloop.${table}
        WHERE ctid IN (SELECT ctid FROM threadloop.${table} WHERE ${condition} LIMIT ${BATCH}) AND ${condition}`,
    );
  }
}
