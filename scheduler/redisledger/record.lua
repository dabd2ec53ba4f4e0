-- N7 RECORD: keeps what became of a tick that did not run. The first record of
-- a tick and stream stays.
-- KEYS[2] records of the job: sorted set by tick
-- arg(1)  tick in ms
-- arg(2)  how such records of the stream begin
-- arg(3)  the record
-- arg(4)  records kept per job
-- Replies OK, or KEPT where there is one already
local runs, tick, start = KEYS[2], arg(1), arg(2)
for _, record in ipairs(redis.call('ZRANGEBYSCORE', runs, tick, tick)) do
  if string.sub(record, 1, #start) == start then return {'KEPT', nowtext} end
end
redis.call('ZADD', runs, tick, arg(3))
redis.call('ZREMRANGEBYRANK', runs, '0', '-' .. num(tonumber(arg(4)) + 1))
return {'OK', nowtext}
