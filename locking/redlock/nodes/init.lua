-- INIT: the operator's word that this node, formatted for this list, never
-- served. KEYS and ARGV as in head.lua. {'SERVED'} if a claim says otherwise.
if node[11] then return {'SERVED', nowtext} end
redis.call('HSET', KEYS[1], 'since', '0')
floor = gracems
return {'OK', nowtext}
