-- What the scripts of commands share. All of them take the same KEYS:
-- KEYS[2] commands: hash of registers, ns:acts
--   a:ID       a request: what the value says of it, see below
--   k:ID       a pause or resume, so that nobody uses its ID for another command
--   p:SERIES   the last pause or resume of a target
--   last:SERIES  the latest instant that is taken in a series of commands, ms
--   version    grows with every change
-- KEYS[3] audit log: sorted set of the commands' JSON by instant, ns:audit
-- KEYS[4] refused commands: the same, ns:refused
-- A value is STATE|at|until|last|SERIES|FINGERPRINT|rest, times in ms:
--   R  at is reserved for the command until then; rest: who reserved it
--   O  a request that is open, and expires then; rest: its JSON
--   C  one that was closed, or a command under k:; rest: its JSON
--   P  a pause, or a resume. A resume, and a pause with an end, is kept until then: as long as resumes
--      after its end (0: for ever)
local commands, audit = KEYS[2], KEYS[3]
local keep = 86400000 -- how long a node keeps expired data, ms
local resumed = 7776000000 -- how long it keeps a resume, and a pause that has ended, ms

-- The fields of a value. Its rest may be long, so only its start is returned.
local function parse(value)
  local state, at, til, last, series, fp, start = string.match(value, '^(%u)|(%d+)|(%d+)|(%d+)|([^|]*)|([^|]*)|()')
  -- One that is no value has no state.
  return {state = state, at = tonumber(at) or 0, til = tonumber(til) or 0, last = tonumber(last) or 0, series = series or '', fp = fp, start = start or 1}
end

local function parsed(value)
  local all = parse(value)
  all.rest = string.sub(value, all.start)
  return all
end

local function get(field)
  local value = redis.call('HGET', commands, field)
  return value and parsed(value)
end

-- Whether a pause lasts: it has no end, or one to come. A resume ends at its own instant.
local function lasts(value)
  return value.state == 'P' and (value.til == 0 or value.til - resumed > math.max(now, value.at))
end

local function last(series) return tonumber(redis.call('HGET', commands, 'last:' .. series) or '0') or 0 end

-- Stores the value. Its time is then taken in its series, and it replaces the command's
-- earlier entry in the audit log.
local function put(field, value, kept)
  local before, new = get(field), parsed(value)
  redis.call('HSET', commands, field, value)
  if new.last > last(new.series) then redis.call('HSET', commands, 'last:' .. new.series, num(new.last)) end
  if before and (before.state == 'O') then redis.call('ZREM', audit, before.rest) end
  redis.call('ZADD', audit, num(new.at), new.rest)
  redis.call('ZREMRANGEBYRANK', audit, '0', '-' .. num(tonumber(kept) + 1))
end

local function changed()
  local version = tonumber(redis.call('HGET', commands, 'version') or '0') or 0
  redis.call('HSET', commands, 'version', num(math.max(version + 1, now)))
end

-- Drops the reservation of `by`, which now asks for another instant.
local function drop(field, by)
  local kept = get(field)
  if kept and kept.state == 'R' and kept.rest == by then
    redis.call('HDEL', commands, field)
    changed()
  end
end
