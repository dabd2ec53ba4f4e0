-- N7 RECORD: keeps what became of a tick that did not run. Of several records of a
-- tick and stream the highest stays: the rank stands first in a record, and records of
-- one score are sorted by their bytes.
-- KEYS[2] notes of the job: sorted set of such records by tick, and 'E' at the last that is
--         gone
-- arg(1)  tick in ms
-- arg(2)  how such records of the stream begin
-- arg(3)  the record: that, a letter for its rank, JSON
-- arg(4)  notes kept per job
-- Replies OK, RAISED where it took the place of a lower one, KEPT where there is a higher
-- one, or FUTURE: the tick lies further ahead of the node's clock than a replica's clock
-- may be
local notes, tick, start = KEYS[2], arg(1), arg(2)
if tonumber(tick) > now + gracems / 2 then return {'FUTURE', nowtext} end
redis.call('ZADD', notes, tick, arg(3))
local highest, reply = nil, 'OK'
for _, record in ipairs(redis.call('ZRANGEBYSCORE', notes, tick, tick)) do
  if string.sub(record, 1, #start) == start then
    if highest then
      redis.call('ZREM', notes, highest)
      reply = record == arg(3) and 'RAISED' or 'KEPT'
    end
    highest = record
  end
end
trim(notes, num(-tonumber(arg(4)) - 1))
return {reply, nowtext}
