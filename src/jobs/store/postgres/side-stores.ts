import type { Budgets } from '../../../core/ports/budget.js';
import type { Board, BoardMessage, Leases, Records } from '../../../core/ports/store.js';
import { budgetLimits } from '../budget-limits.js';
import { readId, storedId, storedMs } from '../identifiers.js';
import type { Sql } from './connection.js';

export function createSqlRecords(sql: Sql): Records {
  return {
    async get(space, key) {
      const [row] = await sql.rows<{ value: string }>(
        'SELECT value FROM threadloop.record WHERE space = $1 AND key = $2 AND expires > threadloop.clock()',
        [storedId(space), storedId(key)],
      );
      return row && JSON.parse(row.value);
    },
    async set(space, key, value, ttlMs) {
      // As JSON, which escapes what a text column refuses.
      await sql.rows(
        `INSERT INTO threadloop.record VALUES ($1, $2, $3, threadloop.clock() + $4)
          ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, expires = excluded.expires`,
        [storedId(space), storedId(key), JSON.stringify(value), storedMs(ttlMs)],
      );
    },
    async delete(space, key) {
      await sql.rows('DELETE FROM threadloop.record WHERE space = $1 AND key = $2', [storedId(space), storedId(key)]);
    },
  };
}

export function createSqlLeases(sql: Sql): Leases {
  return {
    async acquire(name, owner, ttlMs) {
      const held = await sql.rows(
        `INSERT INTO threadloop.lease AS l VALUES ($1, $2, threadloop.clock() + $3)
          ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
          WHERE l.owner = excluded.owner OR l.expires <= threadloop.clock() RETURNING 1`,
        [storedId(name), storedId(owner), storedMs(ttlMs)],
      );
      return held.length === 1;
    },
    async release(name, owner) {
      await sql.rows('DELETE FROM threadloop.lease WHERE name = $1 AND owner = $2', [storedId(name), storedId(owner)]);
    },
  };
}

export function createSqlBudgets(sql: Sql): Budgets {
  return {
    async take(budgets, priority) {
      const limits = budgetLimits(budgets);
      if (limits.length === 0) return 0;
      const { wait } = await sql.row<{ wait: string | number }>('SELECT threadloop.budget_take($1, $2) AS wait', [
        JSON.stringify(limits),
        priority === 'final',
      ]);
      return Number(wait);
    },
  };
}

type BoardRow = { id: string; version: string; position: string; body: string; removed: boolean };

export function createSqlBoard(sql: Sql): Board {
  return {
    async put(conversation, id, body) {
      const { version } = await sql.row<{ version: string }>('SELECT threadloop.board_put($1, $2, $3) AS version', [
        storedId(conversation),
        storedId(id),
        JSON.stringify(body ?? null),
      ]);
      return Number(version);
    },
    async remove(conversation, id) {
      const text = 'SELECT threadloop.board_remove($1, $2) AS done';
      return (await sql.row<{ done: boolean }>(text, [storedId(conversation), storedId(id)])).done;
    },
    async get(conversation, id) {
      const [row] = await sql.rows<BoardRow>(
        'SELECT * FROM threadloop.board_message WHERE conversation = $1 AND id = $2',
        [storedId(conversation), storedId(id)],
      );
      return row && boardMessage(row);
    },
    async list(conversation, after) {
      // One statement, so that the version and the messages are of one moment.
      const rows = await sql.rows<{ newest: string } & BoardRow>(
        `SELECT b.version AS newest, m.* FROM threadloop.board b LEFT JOIN threadloop.board_message m
          ON m.conversation = b.conversation AND m.version > $2 AND NOT (m.removed AND $2 = 0)
          WHERE b.conversation = $1 ORDER BY m.position`,
        [storedId(conversation), after],
      );
      const messages = rows.filter((row) => row.id !== null).map(boardMessage);
      return { version: Number(rows[0]?.newest ?? 0), messages };
    },
  };
}

function boardMessage(row: BoardRow): BoardMessage {
  return {
    id: readId(row.id),
    version: Number(row.version),
    position: Number(row.position),
    body: JSON.parse(row.body),
    removed: row.removed,
  };
}
