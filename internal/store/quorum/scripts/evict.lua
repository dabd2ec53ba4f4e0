-- N6 EVICT: an operator releases the lock of v, whose claim stays. The tombstone
-- refuses the next extension with the reason. It must outlast any pause between
-- extensions, so it uses the grace: leases are shorter.
-- key(2), key(3)  lock of v, its tombstone
-- arg(1)  v
-- arg(2)  the operator's reason
-- Replies OK | NONE if the lock was not v's
local lock = redis.call('GET', key(2))
redis.call('SET', key(3), arg(2), 'PX', num(2 * gracems))
if lock ~= arg(1) and lock ~= '?' .. arg(1) then return {'NONE', nowtext} end
redis.call('DEL', key(2))
return {'OK', nowtext}
