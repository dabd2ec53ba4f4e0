-- N6 VOID: gives up an attempt that will never run the job. The tick is free
-- for others; older ticks and tokens stay closed.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5..)   started records of v without their kind
-- Replies OK
redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl)))
if redis.call('GET', lock) == v then redis.call('DEL', lock) end
if get('owner') == v and get('done') ~= '1' then
  redis.call('HSET', claim, stream .. '.void', '1')
end
for i = 5, #ARGV - 9 do redis.call('ZREM', runs, 'S' .. arg(i)) end
return reply('OK')
