-- What the scripts of acts share; it stands between the nodes' prelude and the
-- rule. All of them take the same KEYS:
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

-- What a value says, but for its rest, which may be long: that begins at start.
local function parse(value)
  local state, at, til, last, line, fp, start = string.match(value, '^(%u)|(%d+)|(%d+)|(%d+)|([^|]*)|([^|]*)|()')
  return {state = state, at = tonumber(at), til = tonumber(til), last = tonumber(last), line = line, fp = fp, start = start}
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

local function last(line)
  return tonumber(redis.call('HGET', acts, 'last:' .. line) or '0')
end

-- How long the node keeps what nobody needs any more: requests after they have
-- expired, the last instant of a line, and the IDs of pauses.
local keep = 86400000

-- How many it keeps at most, the latest: resumes, and IDs of pauses and resumes.
local most = 200

local function trim(list)
  if #list <= most then return end
  table.sort(list, function(x, y) return x.at > y.at end)
  for i = most + 1, #list do redis.call('HDEL', acts, list[i].field) end
end

-- Drops what is old, and returns the parsed values of all other registers by field.
local function sweep()
  local all, live, ids, resumes = redis.call('HGETALL', acts), {}, {}, {}
  for i = 1, #all, 2 do
    local field, kind, til, kept = all[i], string.sub(all[i], 1, 2), 0
    if string.sub(kind, 2) == ':' then
      kept = parse(all[i + 1])
      kept.field, til = field, kept.til
    end
    if kind == 'la' then til = tonumber(all[i + 1]) end
    live[field] = kept
    if til > 0 and til + keep < now then
      redis.call('HDEL', acts, field)
      live[field] = nil
    elseif kind == 'k:' then
      ids[#ids + 1] = kept
    elseif kind == 'p:' and til > 0 then
      resumes[#resumes + 1] = kept
    end
  end
  trim(ids)
  trim(resumes)
  return live
end

-- Stores the value, whose time is taken in its line from then on, and writes it
-- into the audit log instead of what was known of the act before.
local function put(field, value, kept)
  local before, new = get(field), parsed(value)
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
-- registers but those of IDs: field, value, and so on. A node that may have lost
-- its memory does not vouch yet.
local function everything()
  local reply = {'OK', nowtext, now > floor and '1' or '0', redis.call('HGET', acts, 'version') or '0'}
  local all = redis.call('HGETALL', acts)
  for i = 1, #all, 2 do
    local kind = string.sub(all[i], 1, 2)
    if kind == 'a:' or kind == 'p:' then
      reply[#reply + 1] = all[i]
      reply[#reply + 1] = all[i + 1]
    end
  end
  return reply
end
