import type { Budgets } from '../../../core/ports/budget.js';
import type { Board, BoardMessage, Leases, Records } from '../../../core/ports/store.js';
import { budgetLimits } from '../budget-limits.js';
import { readId, storedId, storedMs } from '../identifiers.js';
import type { RedisConnection } from './connection.js';
import type { RedisKeys } from './keys.js';
import type { ScriptRunner } from './script-runner.js';

/** Redis refuses a life of less than a millisecond. */
const life = (ttlMs: number): number => Math.max(1, storedMs(ttlMs));

export function createRedisRecords({ redis, run }: RedisConnection, keys: RedisKeys): Records {
  return {
    async get(space, key) {
      const value = await run(() => redis.get(keys.record(space, key)));
      return value === null ? undefined : JSON.parse(value);
    },
    async set(space, key, value, ttlMs) {
      // As JSON, so that half a surrogate pair comes back as it went in.
      await run(() => redis.set(keys.record(space, key), JSON.stringify(value), 'PX', life(ttlMs)));
    },
    async delete(space, key) {
      await run(() => redis.del(keys.record(space, key)));
    },
  };
}

export function createRedisLeases(scripts: ScriptRunner, keys: RedisKeys): Leases {
  return {
    async acquire(name, owner, ttlMs) {
      return (await scripts.runOn('leaseAcquire', [keys.lease(name)], storedId(owner), life(ttlMs))) === 1;
    },
    async release(name, owner) {
      await scripts.runOn('leaseRelease', [keys.lease(name)], storedId(owner));
    },
  };
}

export function createRedisBudgets(scripts: ScriptRunner, keys: RedisKeys): Budgets {
  return {
    async take(budgets, priority) {
      const limits = budgetLimits(budgets);
      if (limits.length === 0) return 0;
      const names = limits.map(({ bucket }) => keys.budget(bucket));
      const figures = limits.flatMap(({ everyMs, toleranceMs }) => [everyMs, toleranceMs]);
      return await scripts.runOn('budgetTake', names, priority, ...figures);
    },
  };
}

export function createRedisBoard(scripts: ScriptRunner): Board {
  return {
    async put(conversation, id, body) {
      return await scripts.run('boardPut', storedId(conversation), storedId(id), JSON.stringify(body ?? null));
    },
    async remove(conversation, id) {
      return (await scripts.run('boardRemove', storedId(conversation), storedId(id))) === 1;
    },
    async get(conversation, id) {
      const row = await scripts.run('boardGet', storedId(conversation), storedId(id));
      return row === null ? undefined : boardMessage(storedId(id), row);
    },
    async list(conversation, after) {
      const [version, rows] = await scripts.run('boardList', storedId(conversation), after);
      const messages = rows.map(([id, row]) => boardMessage(id, row));
      const shown = after === 0 ? messages.filter((message) => !message.removed) : messages;
      return { version, messages: shown.sort((a, b) => a.position - b.position) };
    },
  };
}

/** Reads `version|position|removed|body`. */
function boardMessage(id: string, row: string): BoardMessage {
  const [version, position, removed] = row.split('|', 3);
  const body = row.slice(`${version}|${position}|${removed}|`.length);
  return {
    id: readId(id),
    version: Number(version),
    position: Number(position),
    body: JSON.parse(body),
    removed: removed === '1',
  };
}
