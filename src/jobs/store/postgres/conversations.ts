import { randomUUID } from 'node:crypto';
import type { AcceptResult } from '../../../core/chat/adapter.js';
import type { ConversationKey, NumberedItem } from '../../../core/chat/message.js';
import type { Logger } from '../../../core/ports/logger.js';
import type {
  ConversationStore,
  ConversationSummary,
  Reading,
  RunMark,
  UsageEntry,
} from '../../../core/ports/store.js';
import { commitPatch } from '../commit-patch.js';
import { readId, storedId, storedMs } from '../identifiers.js';
import { itemFacts } from '../item-facts.js';
import { onceAMinute } from '../once-a-minute.js';
import type { Sql } from './connection.js';
import { removeExpired } from './expiry.js';

const USAGE_LIMIT = 100_000;
const RUNS_LIMIT = 1_000;

/** The driver gives `bigint` columns as text. */
type Big = string | number;

type AcceptRow = { result: AcceptResult['result']; number: Big | null };
type ClaimRow = { epoch: Big; claims: number; state: string | null };
type IntentRow = { intent: 'fresh' | 'again' | 'known' | 'superseded'; id: string | null };
type ReadRow = {
  items: [seq: number, item: string][];
  outbox: [n: number, body: string][];
  live: [slot: string, id: string][];
  stop: Big;
  seen: Big;
  now: Big;
};
type SummaryRow = { key: string; run: string | null; busy: boolean; wake: Big | null };

/** The conversation protocol on PostgreSQL. */
export function createSqlConversations(sql: Sql, logger: Logger): ConversationStore {
  const clean = onceAMinute(() => removeExpired(sql), logger);
  return {
    async accept(key, item) {
      const { dedupe, person, kind, ref } = itemFacts(item);
      const { result, number } = await sql.row<AcceptRow>('SELECT * FROM threadloop.accept($1, $2, $3, $4, $5, $6)', [
        storedId(key),
        dedupe,
        JSON.stringify(item),
        person,
        kind,
        ref,
      ]);
      return result === 'accepted' || result === 'duplicate' ? { result, seq: Number(number) } : { result };
    },
    async claim(key) {
      const row = await sql.row<ClaimRow>('SELECT * FROM threadloop.claim($1, $2)', [storedId(key), randomUUID()]);
      const state = row.state === null ? undefined : JSON.parse(row.state);
      return { epoch: Number(row.epoch), claims: row.claims, state };
    },
    async read(key, epoch) {
      const [row] = await sql.rows<ReadRow>('SELECT * FROM threadloop.read($1, $2)', [storedId(key), epoch]);
      return row === undefined ? 'superseded' : reading(row);
    },
    async commit(key, epoch, commit) {
      const state = JSON.stringify(commit.state ?? null);
      const values = [storedId(key), epoch, randomUUID(), state, commitPatch(key, commit)];
      return await word(sql, 'SELECT threadloop.commit($1, $2, $3, $4, $5) AS word', values);
    },
    async settle(key, epoch, seen, wakeAt) {
      const values = [storedId(key), epoch, seen, wakeAt === null ? null : storedMs(wakeAt)];
      return await word(sql, 'SELECT threadloop.settle($1, $2, $3, $4) AS word', values);
    },
    async check(key, epoch) {
      const [row] = await sql.rows<{ stop: boolean }>(
        'SELECT stop > 0 AS stop FROM threadloop.conversation WHERE key = $1 AND epoch = $2',
        [storedId(key), epoch],
      );
      if (row === undefined) return 'superseded';
      return row.stop ? 'stop' : 'ok';
    },
    async liveIntent(key, epoch, slot) {
      const text = 'SELECT * FROM threadloop.live_intent($1, $2, $3)';
      const { intent, id } = await sql.row<IntentRow>(text, [storedId(key), epoch, storedId(slot)]);
      if (intent === 'superseded') return intent;
      return intent === 'known' ? { intent, messageId: readId(id ?? '') } : { intent };
    },
    async liveId(key, epoch, slot, messageId) {
      const values = [storedId(key), epoch, storedId(slot), storedId(messageId)];
      return await word(sql, 'SELECT threadloop.live_id($1, $2, $3, $4) AS word', values);
    },
    async sweep(graceMs) {
      const found = await sql.rows<{ key: string }>(
        `SELECT key FROM threadloop.conversation WHERE dirty <= (SELECT threadloop.clock()) - $1::bigint
          UNION SELECT key FROM threadloop.conversation WHERE wake <= (SELECT threadloop.clock())`,
        [storedMs(graceMs)],
      );
      await clean();
      return found.map((row) => readId(row.key));
    },
    async summary(key) {
      const [row] = await sql.rows<SummaryRow>(`${SUMMARY} WHERE key = $1`, [storedId(key)]);
      return row && summary(row);
    },
    runs: (filter) => latestRuns(sql, filter),
    usage: (since) => usageSince(sql, since),
  };
}

/** A function that answers with one of the words its operation knows. */
async function word<Word extends string>(sql: Sql, text: string, values: unknown[]): Promise<Word> {
  return (await sql.row<{ word: Word }>(text, values)).word;
}

function reading(row: ReadRow): Reading {
  return {
    items: row.items.map(([seq, text]): NumberedItem => ({ ...JSON.parse(text), seq })),
    outbox: row.outbox.map(([n, text]) => ({ n, body: JSON.parse(text) })),
    live: Object.fromEntries(row.live.map(([slot, id]) => [readId(slot), readId(id)])),
    stop: Number(row.stop),
    seen: Number(row.seen),
    now: Number(row.now),
  };
}

const SUMMARY = 'SELECT key, run, dirty IS NOT NULL AS busy, wake FROM threadloop.conversation';

function summary(row: SummaryRow): ConversationSummary {
  return {
    key: readId(row.key),
    run: row.run === null ? null : JSON.parse(row.run),
    busy: row.busy,
    wakeAt: row.wake === null ? null : Number(row.wake),
  };
}

async function latestRuns(
  sql: Sql,
  filter: { phase?: RunMark['phase']; limit: number },
): Promise<readonly ConversationSummary[]> {
  const limit = Math.max(0, Math.min(filter.limit, RUNS_LIMIT));
  const newest = 'run IS NOT NULL ORDER BY run_updated DESC LIMIT $1';
  const rows =
    filter.phase === undefined
      ? await sql.rows<SummaryRow>(`${SUMMARY} WHERE ${newest}`, [limit])
      : await sql.rows<SummaryRow>(`${SUMMARY} WHERE run_phase = $2 AND ${newest}`, [limit, filter.phase]);
  return rows.map(summary);
}

async function usageSince(sql: Sql, since: number): Promise<readonly (UsageEntry & { key: ConversationKey })[]> {
  const rows = await sql.rows<{ entry: string }>(
    'SELECT entry FROM threadloop.usage WHERE at >= $1 ORDER BY at, id LIMIT $2',
    [since, USAGE_LIMIT],
  );
  return rows.map((row) => JSON.parse(row.entry));
}
