-- N6 EVICT: an operator takes the lock from v, whose claim stays. The tombstone
-- ends its next extension, and says why. It must outlast any pause between
-- extensions: leases are shorter than the grace, which the node knows for sure.
-- KEYS[2..4] lock, tombstone of v, shares
-- arg(1)  v
-- arg(2)  the operator's reason
-- arg(3)  place of v's share
-- Replies OK, or NONE where neither the lock nor the share was v's
redis.call('SET', KEYS[3], arg(2), 'PX', num(2 * gracems))
if redis.call('GET', KEYS[2]) == arg(1) then
  redis.call('DEL', KEYS[2])
  return {'OK', nowtext}
end
if redis.call('HGET', KEYS[4], arg(3) .. 'owner') ~= arg(1) then return {'NONE', nowtext} end
drop_share_at(KEYS[4], arg(3))
return {'OK', nowtext}
