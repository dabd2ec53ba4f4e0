-- What the scripts of acts share; it stands between the nodes' prelude and the
-- rule. All of them take the same KEYS:
-- KEYS[2] acts: hash of registers, ns:acts
--   a:ID       a request: what the value says of it, see below
--   p:LINE     the last pause or resume of a target
--   last:LINE  the latest instant that is taken in a line of acts, ms
--   version    grows with every change
-- KEYS[3] audit log: sorted set of the acts' JSON by instant, ns:audit
-- A value is STATE|at|until|last|LINE|rest, times in ms:
--   R  at is reserved for the request until then; rest: who reserved it
--   O  a request that is open, and expires then; rest: its JSON
--   C  one that was closed; rest: its JSON
--   P  a pause, or a resume, which is kept until then (0: for ever)
local acts, audit = KEYS[2], KEYS[3]

local function parse(value)
  local state, at, til, last, line, rest = string.match(value, '^(%u)|(%d+)|(%d+)|(%d+)|([^|]*)|(.*)$')
  return {state = state, at = tonumber(at), til = tonumber(til), last = tonumber(last), line = line, rest = rest}
end

local function get(field)
  local value = redis.call('HGET', acts, field)
  return value and parse(value)
end

local function last(line)
  return tonumber(redis.call('HGET', acts, 'last:' .. line) or '0')
end

-- How long the node keeps what nobody needs any more: requests after they have
-- expired, and the last instant of a line.
local keep = 86400000

local function sweep()
  local all = redis.call('HGETALL', acts)
  for i = 1, #all, 2 do
    local kind, til = string.sub(all[i], 1, 2), 0
    if kind == 'a:' or kind == 'p:' then til = parse(all[i + 1]).til end
    if kind == 'la' then til = tonumber(all[i + 1]) end
    if til > 0 and til + keep < now then redis.call('HDEL', acts, all[i]) end
  end
end

-- Stores the value, whose time is taken in its line from then on, and writes it
-- into the audit log instead of what was known of the act before.
local function put(field, value, kept)
  local old, new = redis.call('HGET', acts, field), parse(value)
  local before = old and parse(old)
  redis.call('HSET', acts, field, value)
  if new.last > last(new.line) then redis.call('HSET', acts, 'last:' .. new.line, num(new.last)) end
  if before and (before.state == 'O') then redis.call('ZREM', audit, before.rest) end
  redis.call('ZADD', audit, num(new.at), new.rest)
  redis.call('ZREMRANGEBYRANK', audit, '0', '-' .. num(tonumber(kept) + 1))
end

local function changed()
  local version = tonumber(redis.call('HGET', acts, 'version') or '0')
  redis.call('HSET', acts, 'version', num(math.max(version + 1, now)))
end

-- Gives back what by has reserved here: it asks for another instant by now.
local function drop(field, by)
  local kept = get(field)
  if kept and kept.state == 'R' and kept.rest == by then
    redis.call('HDEL', acts, field)
    changed()
  end
end

-- Answers OK, 1 if the node vouches for what it says, the version, and all
-- registers: field, value, and so on. A node that may have lost its memory does
-- not vouch yet.
local function everything()
  local reply = {'OK', nowtext, now > floor and '1' or '0', redis.call('HGET', acts, 'version') or '0'}
  local all = redis.call('HGETALL', acts)
  for i = 1, #all, 2 do
    if string.sub(all[i], 2, 2) == ':' then
      reply[#reply + 1] = all[i]
      reply[#reply + 1] = all[i + 1]
    end
  end
  return reply
end
