-- N6 EVICT: an operator takes the lock from v, whose claim stays. The tombstone
-- ends its next extension, and says why. It must outlast any pause between
-- extensions: leases are shorter than the grace, which the node knows for sure.
-- KEYS[2..3] lock, tombstone of v
-- arg(1)  v
-- arg(2)  the operator's reason
-- Replies OK, or NONE where the lock was not v's
redis.call('SET', KEYS[3], arg(2), 'PX', num(2 * gracems))
if redis.call('GET', KEYS[2]) ~= arg(1) then return {'NONE', nowtext} end
redis.call('DEL', KEYS[2])
return {'OK', nowtext}
