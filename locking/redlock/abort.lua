-- N6 ABORT: frees the lock of an attempt that failed before it committed.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5)     1 if a request of v to this node was left unanswered: it may still
--            arrive, and must find the tombstone
-- Replies OK
if arg(5) == '1' then redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl))) end
if redis.call('GET', lock) == v then redis.call('DEL', lock) end
return reply('OK')
