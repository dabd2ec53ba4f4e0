-- What the scripts of acts share. All of them take the same KEYS:
-- KEYS[2] acts: hash of registers, ns:acts
--   a:ID       a request: what the value says of it, see below
--   k:ID       a pause or resume, so that nobody uses its ID for another act
--   p:LINE     the last pause or resume of a target
--   last:LINE  the latest instant that is taken in a line of acts, ms
--   version    grows with every change
-- KEYS[3] audit log: sorted set of the acts' JSON by instant, ns:audit
-- KEYS[4] refused acts: the same, ns:refused
-- A value is STATE|at|until|last|LINE|FINGERPRINT|rest, times in ms:
--   R  at is reserved for the act until then; rest: who reserved it
--   O  a request that is open, and expires then; rest: its JSON
--   C  one that was closed, or an act under k:; rest: its JSON
--   P  a pause, or a resume, which is kept until then (0: for ever)
local acts, audit = KEYS[2], KEYS[3]
local keep = 86400000 -- how long a node keeps expired data, ms

-- The fields of a value. Its rest may be long, so only its start is returned.
local function parse(value)
  local state, at, til, last, line, fp, start = string.match(value, '^(%u)|(%d+)|(%d+)|(%d+)|([^|]*)|([^|]*)|()')
  -- One that is no value has no state.
  return {state = state, at = tonumber(at) or 0, til = tonumber(til) or 0, last = tonumber(last) or 0, line = line or '', fp = fp, start = start or 1}
end

local function parsed(value)
  local all = parse(value)
  all.rest = string.sub(value, all.start)
  return all
end

local function get(field)
  local value = redis.call('HGET', acts, field)
  return value and parsed(value)
end

local function last(line) return tonumber(redis.call('HGET', acts, 'last:' .. line) or '0') or 0 end

-- Stores the value. Its time is then taken in its line, and it replaces the act's
-- earlier entry in the audit log.
local function put(field, value, kept)
  local before, new = get(field), parsed(value)
  redis.call('HSET', acts, field, value)
  if new.last > last(new.line) then redis.call('HSET', acts, 'last:' .. new.line, num(new.last)) end
  if before and (before.state == 'O') then redis.call('ZREM', audit, before.rest) end
  redis.call('ZADD', audit, num(new.at), new.rest)
  redis.call('ZREMRANGEBYRANK', audit, '0', '-' .. num(tonumber(kept) + 1))
end

local function changed()
  local version = tonumber(redis.call('HGET', acts, 'version') or '0') or 0
  redis.call('HSET', acts, 'version', num(math.max(version + 1, now)))
end

-- Drops the reservation of `by`, which now asks for another instant.
local function drop(field, by)
  local kept = get(field)
  if kept and kept.state == 'R' and kept.rest == by then
    redis.call('HDEL', acts, field)
    changed()
  end
end
