-- Reads records of one job or of several, of each the newest ticks first.
-- KEYS[2] records of the first job: sorted set by tick
-- KEYS[3] its lock: the owner of the current claim
-- KEYS[4] shares of its lock: a hash, with the fields owner, until (ms) and done of
--         each behind "<stream>:<tick>."; then the keys of the next job, and so on
-- arg(1)  latest tick of the first job in ms, '(' before it leaves it out; or +inf
-- arg(2)  the earliest tick
-- arg(3)  at most so many records; then those of the next job, and so on
-- Replies OK, then of each job: the tick of the newest record that was not read, ''
-- if there is none; how many owners have the lock or a share of it, owner…; how many
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

for at = 1, #ARGV - 9, 3 do
  local latest, earliest, most = arg(at), tonumber(arg(at + 1)), tonumber(arg(at + 2))
  local found = redis.call('ZRANGE', key(at + 1), latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', num(most + 1), 'WITHSCORES')
  local count, rest = #found / 2, ''
  for i = 1, #found / 2 do
    local tick = tonumber(found[2 * i])
    if i > most or tick < earliest then
      count, rest = i - 1, num(tick)
      break
    end
  end
  say(rest)
  local owners = count > 0 and owners_of(key(at + 2), key(at + 3)) or {}
  say(num(#owners))
  for _, owner in ipairs(owners) do say(owner) end
  say(num(count))
  for i = 1, count do say(found[2 * i - 1]) end
end
return reply
