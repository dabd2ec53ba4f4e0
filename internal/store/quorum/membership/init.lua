-- INIT: the operator declares that this node, formatted for this list, never served.
-- KEYS and ARGV as in header.lua.
-- Replies OK, or SERVED if a replica has written here.
if node[4] then return {'SERVED', nowtext} end
redis.call('HSET', KEYS[1], 'since', '0')
floor = gracems
return {'OK', nowtext}
