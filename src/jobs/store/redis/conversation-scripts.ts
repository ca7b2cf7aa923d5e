import { RETENTION_MS } from '../once-a-minute.js';
import { RUN_PHASES } from './keys.js';
import { NOW, type ScriptSource } from './script-source.js';

/**
 * The conversation protocol as Lua, one script per operation; Redis runs each atomically. ARGV[1] is always the
 * conversation, ARGV[2] of fenced scripts the caller's epoch. Times come from the server. Every script may be repeated
 * after its answer was lost: `claim` and `commit` know their last call by its token, the others are repeatable as such.
 */

const FENCE = `
if redis.call('HGET', conv, 'epoch') ~= ARGV[2] then return 'superseded' end`;

const NUMBER = `
local function number(field) return tonumber(redis.call('HGET', conv, field) or 0) end`;

const ALLOWS = `
local function allows(list, person)
  for _, id in ipairs(list) do if id == '*' or id == person then return true end end
  return false
end`;

// Members of \`seen\` are scored by inbox number, so they are dropped by number too: once a day everything that was
// already there at the last such moment. A key is therefore remembered for one to two days.
const REMEMBER = `
local function remember(dedupe, seq)
  local mark = redis.call('HMGET', conv, 'seenAt', 'seenUpTo')
  if now - tonumber(mark[1] or 0) > ${RETENTION_MS.seen} then
    redis.call('ZREMRANGEBYSCORE', seen, '-inf', mark[2] or 0)
    redis.call('HSET', conv, 'seenAt', now, 'seenUpTo', seq - 1)
  end
  redis.call('ZADD', seen, seq, dedupe)
  redis.call('PEXPIRE', seen, ${2 * RETENTION_MS.seen})
end`;

const accept: ScriptSource = {
  keys: ['conv', 'inbox', 'seen', 'choices', 'dirty'],
  lua: `${NOW}${NUMBER}${ALLOWS}${REMEMBER}
local key, dedupe, item, person, kind, ref = unpack(ARGV)
local known = redis.call('ZSCORE', seen, dedupe)
if known then return {'duplicate', tonumber(known)} end
if kind == 'choice' then
  local row = redis.call('HGET', choices, ref)
  if not row then return {'expired'} end
  row = cjson.decode(row)
  if not allows(row.allowed, person) then return {'foreign'} end
  if row.by then return {'already'} end
  if row.closed or row.till <= now or number('stop') > 0 then return {'expired'} end
  row.by = person
  redis.call('HSET', choices, ref, cjson.encode(row))
elseif kind == 'stop' then
  local active = redis.call('HGET', conv, 'runActive') == '1'
  if ref ~= '' and not (active and redis.call('HGET', conv, 'runId') == ref) then return {'closed'} end
  if active and not allows(cjson.decode(redis.call('HGET', conv, 'runAllowed')), person) then return {'foreign'} end
end
local seq = redis.call('HINCRBY', conv, 'seq', 1)
remember(dedupe, seq)
redis.call('ZADD', inbox, seq, seq .. '|' .. item)
redis.call('ZADD', dirty, 'NX', now, key)
if kind == 'stop' then redis.call('HSET', conv, 'stop', seq) end
return {'accepted', seq}`,
};

const claim: ScriptSource = {
  keys: ['conv', 'dirty'],
  lua: `${NOW}
local key, token = unpack(ARGV)
if redis.call('HGET', conv, 'claimToken') ~= token then
  redis.call('HINCRBY', conv, 'epoch', 1)
  redis.call('HINCRBY', conv, 'claims', 1)
  redis.call('HSET', conv, 'claimToken', token)
end
redis.call('ZADD', dirty, now, key)
return redis.call('HMGET', conv, 'epoch', 'claims', 'state')`,
};

const read: ScriptSource = {
  keys: ['conv', 'inbox', 'outbox', 'live'],
  lua: `${NOW}${NUMBER}${FENCE}
return {redis.call('ZRANGE', inbox, 0, -1), redis.call('ZRANGE', outbox, 0, -1), redis.call('HGETALL', live),
  number('stop'), number('seq'), now}`,
};

const RUN = `
local function setRun(run, key)
  local phases = {${RUN_PHASES.map((phase) => `${phase} = ${phase}`).join(', ')}}
  for _, set in pairs(phases) do redis.call('ZREM', set, key) end
  redis.call('HDEL', conv, 'run', 'runId', 'runActive', 'runAllowed')
  if run.mark then
    local active = (run.phase == 'running' or run.phase == 'waiting') and 1 or 0
    local allowed = cjson.encode(run.allowed)
    redis.call('HSET', conv, 'run', run.mark, 'runId', run.id, 'runActive', active, 'runAllowed', allowed)
    redis.call('ZADD', phases[run.phase], run.updatedAt, key)
  end
end`;

// An id is used once: opening it again changes an untouched choice and never revives a won or closed one.
const CHOICES = `
local function row(id)
  local text = redis.call('HGET', choices, id)
  return text and cjson.decode(text)
end
local function keep(id, value) redis.call('HSET', choices, id, cjson.encode(value)) end
local function openChoice(choice)
  local old = row(choice.id)
  if not old or not (old.by or old.closed) then keep(choice.id, {allowed = choice.allowed, till = choice.till}) end
end
local function closeChoice(id)
  local old = row(id)
  if old and not old.closed then old.closed = now keep(id, old) end
end
local function forgetClosed()
  local rows = redis.call('HGETALL', choices)
  for i = 1, #rows, 2 do
    local closed = cjson.decode(rows[i + 1]).closed
    if closed and closed < now - ${RETENTION_MS.choices} then redis.call('HDEL', choices, rows[i]) end
  end
end`;

const commit: ScriptSource = {
  keys: ['conv', 'inbox', 'outbox', 'live', 'choices', 'dirty', 'wake', 'usage', ...RUN_PHASES],
  lua: `${NOW}${NUMBER}${RUN}${CHOICES}${FENCE}
local key, _, token, state, patch = unpack(ARGV)
if redis.call('HGET', conv, 'commitToken') == token then return 'ok' end
patch = cjson.decode(patch)
for _, id in ipairs(patch.close) do
  local old = row(id)
  if old and old.by and not old.closed and not patch.knowsTaken then return 'taken' end
end
redis.call('HSET', conv, 'state', state, 'claims', 0, 'commitToken', token)
for _, seq in ipairs(patch.ack) do redis.call('ZREMRANGEBYSCORE', inbox, seq, seq) end
for _, n in ipairs(patch.delivered) do redis.call('ZREMRANGEBYSCORE', outbox, n, n) end
for _, body in ipairs(patch.outbox) do
  local n = redis.call('HINCRBY', conv, 'outn', 1)
  redis.call('ZADD', outbox, n, n .. '|' .. body)
end
for _, choice in ipairs(patch.open) do openChoice(choice) end
for _, id in ipairs(patch.close) do closeChoice(id) end
if #patch.open > 0 then forgetClosed() end
if number('stop') <= patch.stopUpTo then redis.call('HSET', conv, 'stop', 0) end
if patch.run then setRun(patch.run, key) end
if patch.wakeAt == 'none' then redis.call('ZREM', wake, key)
elseif patch.wakeAt then redis.call('ZADD', wake, patch.wakeAt, key) end
for _, entry in ipairs(patch.usage) do
  redis.call('ZADD', usage, entry.at, redis.call('HINCRBY', conv, 'usen', 1) .. '|' .. entry.text)
end
for _, slot in ipairs(patch.forget) do redis.call('HDEL', live, slot) end
redis.call('ZADD', dirty, now, key)
return 'ok'`,
};

const settle: ScriptSource = {
  keys: ['conv', 'inbox', 'outbox', 'dirty', 'wake'],
  lua: `${NOW}${NUMBER}${FENCE}
local key, _, seen, wakeAt = unpack(ARGV)
if number('seq') > tonumber(seen) then return 'busy' end
if wakeAt == '' then
  if redis.call('ZCARD', inbox) + redis.call('ZCARD', outbox) > 0 then return 'busy' end
  redis.call('ZREM', wake, key)
else
  if tonumber(wakeAt) <= now then return 'busy' end
  redis.call('ZADD', wake, wakeAt, key)
end
redis.call('ZREM', dirty, key)
redis.call('HSET', conv, 'claims', 0)
return 'ok'`,
};

const check: ScriptSource = {
  keys: ['conv'],
  lua: `${NUMBER}${FENCE}
if number('stop') > 0 then return 'stop' end
return 'ok'`,
};

const liveIntent: ScriptSource = {
  keys: ['conv', 'live'],
  lua: `${FENCE}
local id = redis.call('HGET', live, ARGV[3])
if not id then redis.call('HSET', live, ARGV[3], '') return {'fresh'} end
if id == '' then return {'again'} end
return {'known', id}`,
};

const liveId: ScriptSource = {
  keys: ['conv', 'live'],
  lua: `${FENCE}
redis.call('HSET', live, ARGV[3], ARGV[4])
return 'ok'`,
};

const summary: ScriptSource = {
  keys: ['conv', 'dirty', 'wake'],
  lua: `
local key = ARGV[1]
return {redis.call('EXISTS', conv), redis.call('HGET', conv, 'run'),
  redis.call('ZSCORE', dirty, key), redis.call('ZSCORE', wake, key)}`,
};

export const CONVERSATION_SCRIPTS = {
  accept,
  claim,
  read,
  commit,
  settle,
  check,
  liveIntent,
  liveId,
  summary,
} as const;
