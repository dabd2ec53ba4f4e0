-- N7 RECORD: keeps what became of a tick that did not run. Of several records of a
-- tick and stream the highest stays: the rank stands first in a record, and records of
-- one score are sorted by their bytes.
-- KEYS[2] records of the job: sorted set by tick
-- arg(1)  tick in ms
-- arg(2)  how such records of the stream begin
-- arg(3)  the record: that, a letter for its rank, JSON
-- arg(4)  records kept per job
-- Replies OK, RAISED where it took the place of a lower one, KEPT where there is a higher
-- one, or FUTURE: the tick lies further ahead of the node's clock than a replica's clock
-- may be
local runs, tick, start = KEYS[2], arg(1), arg(2)
if tonumber(tick) > now + gracems / 2 then return {'FUTURE', nowtext} end
redis.call('ZADD', runs, tick, arg(3))
local highest, reply = nil, 'OK'
for _, record in ipairs(redis.call('ZRANGEBYSCORE', runs, tick, tick)) do
  if string.sub(record, 1, #start) == start then
    if highest then
      redis.call('ZREM', runs, highest)
      reply = record == arg(3) and 'RAISED' or 'KEPT'
    end
    highest = record
  end
end
redis.call('ZREMRANGEBYRANK', runs, '0', '-' .. num(tonumber(arg(4)) + 1))
return {reply, nowtext}
