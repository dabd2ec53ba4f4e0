-- Logs a refused command.
-- KEYS as in common.lua
-- arg(1)  its JSON
-- arg(2)  when, ms
-- arg(3)  how many are kept
-- Replies OK
redis.call('ZADD', KEYS[4], arg(2), arg(1))
redis.call('ZREMRANGEBYRANK', KEYS[4], '0', '-' .. num(tonumber(arg(3)) + 1))
return {'OK', nowtext}
