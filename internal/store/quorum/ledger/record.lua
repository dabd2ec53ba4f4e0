-- N7 RECORD: stores the outcome of a tick that did not run. Of several records of a
-- tick and stream the highest stays: the rank comes first in a record, and Redis sorts
-- records of one score by their bytes.
-- KEYS[2] notes of the job: sorted set of such records by tick, and 'E' at the last one dropped
-- arg(1)  tick in ms
-- arg(2)  prefix of such records of the stream
-- arg(3)  the record: the prefix, a letter for its rank, JSON
-- arg(4)  notes kept per job
-- Replies OK, KNOWN if another record of the tick existed, or FUTURE: the tick is further ahead
-- of the node's clock than a replica's clock may be
serve()
local notes, tick, start = KEYS[2], arg(1), arg(2)
if tonumber(tick) > now + gracems / 2 then return {'FUTURE', nowtext} end
redis.call('ZADD', notes, tick, arg(3))
local highest, reply = nil, 'OK'
for _, record in ipairs(redis.call('ZRANGEBYSCORE', notes, tick, tick)) do
  if string.sub(record, 1, #start) == start then
    if highest then
      redis.call('ZREM', notes, highest)
      reply = 'KNOWN'
    end
    highest = record
  end
end
trim(notes, num(-tonumber(arg(4)) - 1))
return {reply, nowtext}
