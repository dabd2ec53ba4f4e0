-- Reads records of a job, the newest ticks first.
-- KEYS[2] records of the job: sorted set by tick
-- KEYS[3] lock of the job: the owner of the current claim
-- KEYS[4] shares of the lock: a hash, with the fields owner, until (ms) and done of
--         each behind "<stream>:<tick>."
-- arg(1)  latest tick in ms, '(' before it leaves it out; or +inf
-- arg(2)  at most so many
-- Replies OK, how many owners have the lock or a share of it, owner…, record…
local owners, all, shares = {}, redis.call('HGETALL', KEYS[4]), {}
for i = 1, #all, 2 do shares[all[i]] = all[i + 1] end
for field, owner in pairs(shares) do
  local place = string.match(field, '^(.*%.)owner$')
  if place and tonumber(shares[place .. 'until']) >= now and shares[place .. 'done'] ~= '1' then
    owners[#owners + 1] = owner
  end
end
local owner = redis.call('GET', KEYS[3])
if owner then owners[#owners + 1] = owner end
table.sort(owners)

local reply = {'OK', nowtext, num(#owners)}
for _, owner in ipairs(owners) do reply[#reply + 1] = owner end
local records = redis.call('ZRANGE', KEYS[2], arg(1), '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', arg(2))
for _, record in ipairs(records) do reply[#reply + 1] = record end
return reply
