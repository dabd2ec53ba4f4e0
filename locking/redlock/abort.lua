-- N6 ABORT: frees the lock of an attempt that failed before it committed.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     1 if a request of v to this node was left unanswered: it may still
--            arrive, and must find the tombstone
-- Replies OK
begin()
if arg(6) == '1' then redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl))) end
free()
return reply('OK')
