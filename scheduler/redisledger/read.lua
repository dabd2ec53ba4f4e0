-- Reads records of a job, the newest ticks first.
-- KEYS[2] records of the job: sorted set by tick
-- KEYS[3] lock of the job: the owner of the current claim
-- arg(1)  latest tick in ms, '(' before it leaves it out; or +inf
-- arg(2)  at most so many
-- Replies OK owner record…
local reply = {'OK', nowtext, redis.call('GET', KEYS[3]) or ''}
local records = redis.call('ZRANGE', KEYS[2], arg(1), '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', arg(2))
for _, record in ipairs(records) do reply[#reply + 1] = record end
return reply
