-- Takes a replica off the roster, and remembers that it left.
-- KEYS[2] hash of replicas, see announce.lua
-- KEYS[3] those that left: sorted set of JSON by ms of the node's clock. No other script stores
-- them, and a release that does not know them never sees them.
-- arg(1)  id
-- arg(2)  JSON
-- arg(3)  how long those that left are remembered, ms. Then the set expires.
-- arg(4)  how many of them
-- Replies OK
serve()
local left = KEYS[3]
redis.call('HDEL', KEYS[2], arg(1))
redis.call('ZADD', left, nowtext, arg(2))
local old = #redis.call('ZRANGEBYSCORE', left, '-inf', num(now - tonumber(arg(3))))
if old > 0 then redis.call('ZREMRANGEBYRANK', left, '0', num(old - 1)) end
redis.call('ZREMRANGEBYRANK', left, '0', num(-tonumber(arg(4)) - 1))
redis.call('PEXPIRE', left, arg(3))
return {'OK', nowtext}
