-- N6 VOID: gives up an attempt that will never run the job. The tick is free
-- for others; older ticks and tokens stay closed.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6..)   started records of v without their kind
-- Replies OK
begin()
redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl)))
free()
recall()
if stored_owner == v and stored_done ~= '1' then
  redis.call('HSET', claim, of.void, '1')
end
for i = 6, own.args do redis.call('ZREM', runs, 'S' .. arg(i)) end
return reply('OK')
