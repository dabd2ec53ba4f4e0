-- Reads records of one job or of several, of each the newest ticks first.
-- KEYS[2] runs of the first job: sorted set of records by tick, and 'E' at the last that is
--         gone
-- KEYS[3] its notes, of ticks that did not run: a set like that
-- KEYS[4] its lock: the owner of the current claim
-- KEYS[5] shares of its lock: a hash, with the fields owner, until (ms) and done of
--         each behind "<stream>:<tick>."; then the keys of the next job, and so on
-- arg(1)  latest tick of the first job in ms, '(' before it leaves it out; or +inf
-- arg(2)  the earliest tick
-- arg(3)  at most so many runs, and as many notes; then those of the next job, and so on
-- Replies OK, then of each job: the tick of the newest record that was not read, ''
-- if there is none; the highest tick of which a record is gone, or ''; how many owners have the lock or a share of it, owner…; how many
-- records, record…. Who has the lock is not said where no record is.
local reply, n = {'OK', nowtext}, 2
local function say(value)
  n = n + 1
  reply[n] = value
end

local function owners_of(lock, hash)
  local owners, all, shares = {}, redis.call('HGETALL', hash), {}
  for i = 1, #all, 2 do shares[all[i]] = all[i + 1] end
  for field, owner in pairs(shares) do
    local place = string.match(field, '^(.*%.)owner$')
    if place and tonumber(shares[place .. 'until']) >= now and shares[place .. 'done'] ~= '1' then
      owners[#owners + 1] = owner
    end
  end
  local owner = redis.call('GET', lock)
  if owner then owners[#owners + 1] = owner end
  table.sort(owners)
  return owners
end

for job = 0, (#ARGV - 9) / 3 - 1 do
  local latest, earliest, most = arg(3 * job + 1), tonumber(arg(3 * job + 2)), tonumber(arg(3 * job + 3))
  local rest, gone, records = -1, -1, {}
  for set = 4 * job + 1, 4 * job + 2 do
    local found = redis.call('ZRANGE', key(set + 1), latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', num(most + 2), 'WITHSCORES')
    local count = 0
    for i = 1, #found, 2 do
      local record, tick = found[i], tonumber(found[i + 1])
      if record ~= 'E' then
        if count == most or tick < earliest then
          rest = math.max(rest, tick)
          break
        end
        count = count + 1
        records[#records + 1] = record
      end
    end
    gone = math.max(gone, tonumber(redis.call('ZSCORE', key(set + 1), 'E') or '-1'))
  end
  say(rest < 0 and '' or num(rest))
  say(gone < 0 and '' or num(gone))
  local owners = #records > 0 and owners_of(key(4 * job + 4), key(4 * job + 5)) or {}
  say(num(#owners))
  for _, owner in ipairs(owners) do say(owner) end
  say(num(#records))
  for _, record in ipairs(records) do say(record) end
end
return reply
