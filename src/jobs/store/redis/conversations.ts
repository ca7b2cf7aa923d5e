import { randomUUID } from 'node:crypto';
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
import { onceAMinute, RETENTION_MS } from '../once-a-minute.js';
import type { RedisConnection } from './connection.js';
import { BUCKETS, type RedisKeys, RUN_PHASES } from './keys.js';
import type { ScriptRunner } from './script-runner.js';

const USAGE_LIMIT = 100_000;
const RUNS_LIMIT = 1_000;
const BUCKET_NUMBERS = Array.from({ length: BUCKETS }, (_, number) => number);

interface Parts {
  readonly connection: RedisConnection;
  readonly keys: RedisKeys;
  readonly scripts: ScriptRunner;
  readonly logger: Logger;
}

/** The conversation protocol on Redis. */
export function createRedisConversations(parts: Parts): ConversationStore {
  const { scripts } = parts;
  const trimUsage = onceAMinute(() => removeOldUsage(parts), parts.logger);
  return {
    async accept(key, item) {
      const { dedupe, person, kind, ref } = itemFacts(item);
      const reply = await scripts.run('accept', storedId(key), dedupe, JSON.stringify(item), person, kind, ref);
      return reply.length === 2 ? { result: reply[0], seq: reply[1] } : { result: reply[0] };
    },
    async claim(key) {
      const [epoch, claims, state] = await scripts.run('claim', storedId(key), randomUUID());
      return { epoch: Number(epoch), claims: Number(claims), state: state === null ? undefined : JSON.parse(state) };
    },
    async read(key, epoch) {
      const reply = await scripts.run('read', storedId(key), epoch);
      return reply === 'superseded' ? reply : reading(reply);
    },
    async commit(key, epoch, commit) {
      const state = JSON.stringify(commit.state ?? null);
      return await scripts.run('commit', storedId(key), epoch, randomUUID(), state, commitPatch(key, commit));
    },
    async settle(key, epoch, seen, wakeAt) {
      return await scripts.run('settle', storedId(key), epoch, seen, wakeAt === null ? '' : storedMs(wakeAt));
    },
    async check(key, epoch) {
      return await scripts.run('check', storedId(key), epoch);
    },
    async liveIntent(key, epoch, slot) {
      const reply = await scripts.run('liveIntent', storedId(key), epoch, storedId(slot));
      if (reply === 'superseded') return reply;
      return reply.length === 2 ? { intent: 'known', messageId: readId(reply[1]) } : { intent: reply[0] };
    },
    async liveId(key, epoch, slot, messageId) {
      return await scripts.run('liveId', storedId(key), epoch, storedId(slot), storedId(messageId));
    },
    async sweep(graceMs) {
      const found = await silentKeys(parts, graceMs);
      await trimUsage();
      return found;
    },
    async summary(key) {
      return await summary(scripts, storedId(key));
    },
    runs: (filter) => latestRuns(parts, filter),
    usage: (since) => usageSince(parts, since),
  };
}

/** Splits `number|text`, the members of inbox, outbox and usage. */
function numbered(member: string): [number: number, text: string] {
  const border = member.indexOf('|');
  return [Number(member.slice(0, border)), member.slice(border + 1)];
}

function reading(
  reply: [readonly string[], readonly string[], readonly string[], stop: number, seen: number, now: number],
): Reading {
  const [items, outbox, live, stop, seen, now] = reply;
  return {
    items: items.map(numbered).map(([seq, text]): NumberedItem => ({ ...JSON.parse(text), seq })),
    outbox: outbox.map(numbered).map(([n, text]) => ({ n, body: JSON.parse(text) })),
    live: Object.fromEntries(pairs(live).map(([slot, id]) => [readId(slot), readId(id)])),
    stop,
    seen,
    now,
  };
}

function pairs(flat: readonly string[]): [string, string][] {
  return flat.flatMap((name, i) => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []) as [string, string][]);
}

/** One plain read per bucket and set: no script crosses a slot, and a key found too late is found by the next sweep. */
async function silentKeys({ connection, keys }: Parts, graceMs: number): Promise<readonly ConversationKey[]> {
  const { redis, run } = connection;
  const [seconds, micros] = await run(() => redis.time());
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  const found = await Promise.all(
    BUCKET_NUMBERS.flatMap((bucket) => [
      run(() => redis.zrangebyscore(keys.bucket('dirty', bucket), 0, now - graceMs)),
      run(() => redis.zrangebyscore(keys.bucket('wake', bucket), 0, now)),
    ]),
  );
  return [...new Set(found.flat())].map(readId);
}

async function summary(scripts: ScriptRunner, stored: string): Promise<ConversationSummary | undefined> {
  const [exists, run, dirty, wake] = await scripts.run('summary', stored);
  if (exists === 0) return undefined;
  return {
    key: readId(stored),
    run: run === null ? null : JSON.parse(run),
    busy: dirty !== null,
    wakeAt: wake === null ? null : Number(wake),
  };
}

async function latestRuns(
  { connection, keys, scripts }: Parts,
  filter: { phase?: RunMark['phase']; limit: number },
): Promise<readonly ConversationSummary[]> {
  const { redis, run } = connection;
  const limit = Math.min(filter.limit, RUNS_LIMIT);
  if (limit < 1) return [];
  const phases = filter.phase === undefined ? RUN_PHASES : [filter.phase];
  const sets = phases.flatMap((phase) => BUCKET_NUMBERS.map((bucket) => keys.bucket(phase, bucket)));
  const found = await Promise.all(sets.map((set) => run(() => redis.zrevrange(set, 0, limit - 1, 'WITHSCORES'))));
  const newest = found.flatMap(pairs).sort((a, b) => Number(b[1]) - Number(a[1]));
  const summaries = await Promise.all(newest.slice(0, limit).map(([key]) => summary(scripts, key)));
  // A run may have changed its phase since its set was read.
  return summaries.flatMap((one) => (one?.run && phases.some((phase) => phase === one.run?.phase) ? [one] : []));
}

/** Bucket after bucket, so that never more than two limits of entries are in memory. */
async function usageSince(
  { connection, keys }: Parts,
  since: number,
): Promise<readonly (UsageEntry & { key: ConversationKey })[]> {
  const { redis, run } = connection;
  let oldest: { at: number; n: number; text: string }[] = [];
  for (const bucket of BUCKET_NUMBERS) {
    const name = keys.bucket('usage', bucket);
    const flat = await run(() => redis.zrangebyscore(name, since, '+inf', 'WITHSCORES', 'LIMIT', 0, USAGE_LIMIT));
    const rows = pairs(flat).map(([member, at]) => {
      const [n, text] = numbered(member);
      return { at: Number(at), n, text };
    });
    oldest = [...oldest, ...rows].sort((a, b) => a.at - b.at || a.n - b.n).slice(0, USAGE_LIMIT);
  }
  return oldest.map(({ text }) => JSON.parse(text));
}

async function removeOldUsage({ connection, keys }: Parts): Promise<void> {
  const { redis, run } = connection;
  const [seconds] = await run(() => redis.time());
  const before = Number(seconds) * 1_000 - RETENTION_MS.usage;
  await Promise.all(BUCKET_NUMBERS.map((b) => run(() => redis.zremrangebyscore(keys.bucket('usage', b), 0, before))));
}
