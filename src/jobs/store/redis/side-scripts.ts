import { OVERDRAFT_MS } from '../budget-limits.js';
import { NOW, type ScriptSource } from './script-source.js';

/** Scripts of the board, leases and budgets; see conversation-scripts for the rules they share. */

// The newest version is the highest score: every change gets one and no message ever leaves the set.
const NEWEST = `
local function newest() return tonumber(redis.call('ZREVRANGE', versions, 0, 0, 'WITHSCORES')[2] or 0) end`;

const boardPut: ScriptSource = {
  keys: ['board', 'versions'],
  lua: `${NEWEST}
local _, id, body = unpack(ARGV)
local version = newest() + 1
local old = redis.call('HGET', board, id)
local position = old and string.match(old, '^%d+|(%d+)|') or version
redis.call('HSET', board, id, version .. '|' .. position .. '|0|' .. body)
redis.call('ZADD', versions, version, id)
return version`,
};

const boardRemove: ScriptSource = {
  keys: ['board', 'versions'],
  lua: `${NEWEST}
local id = ARGV[2]
local old = redis.call('HGET', board, id)
local position = old and string.match(old, '^%d+|(%d+)|0|')
if not position then return 0 end
local version = newest() + 1
redis.call('HSET', board, id, version .. '|' .. position .. '|1|null')
redis.call('ZADD', versions, version, id)
return 1`,
};

const boardGet: ScriptSource = {
  keys: ['board'],
  lua: `
return redis.call('HGET', board, ARGV[2])`,
};

const boardList: ScriptSource = {
  keys: ['board', 'versions'],
  lua: `${NEWEST}
local rows = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', versions, '(' .. ARGV[2], '+inf')) do
  rows[#rows + 1] = {id, redis.call('HGET', board, id)}
end
return {newest(), rows}`,
};

export const BOARD_SCRIPTS = { boardPut, boardRemove, boardGet, boardList } as const;

/** Scripts over keys that belong to no conversation; they read KEYS themselves. */
export const KEYED_SCRIPTS = {
  // ARGV: owner, ttl → 1 when held
  leaseAcquire: `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
  // ARGV: owner
  leaseRelease: `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
return 1`,
  // KEYS: buckets; ARGV: priority, then everyMs and tolerance of each bucket. A key holds the theoretical arrival
  // time of its bucket's next call.
  budgetTake: `${NOW}
local arrival, wait = {}, 0
for i, key in ipairs(KEYS) do
  arrival[i] = math.max(now, tonumber(redis.call('GET', key) or 0))
  wait = math.max(wait, arrival[i] - tonumber(ARGV[2 * i + 1]) - now)
end
for i, key in ipairs(KEYS) do
  local latest = now + tonumber(ARGV[2 * i + 1]) + ${OVERDRAFT_MS}
  local next = math.max(arrival[i], math.min(arrival[i] + tonumber(ARGV[2 * i]), latest))
  redis.call('SET', key, string.format('%.3f', next), 'PX', math.ceil(next - now) + 1000)
end
return ARGV[1] == 'final' and 0 or math.ceil(wait)`,
} as const;
