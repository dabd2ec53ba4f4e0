-- Returns the replicas that left.
-- KEYS[2] see KEYS[3] of leave.lua
-- arg(1)  how long they are remembered, ms
-- Replies OK, JSON of each, the last one at the end
local reply = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. num(now - tonumber(arg(1))), '+inf')
table.insert(reply, 1, nowtext)
table.insert(reply, 1, 'OK')
return reply
