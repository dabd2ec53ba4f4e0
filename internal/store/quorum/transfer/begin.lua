-- BEGIN: seals a node that no replica has written to, for a copy from another store.
-- Replies OK, or SERVED
if node[4] or node[5] then return {'SERVED', nowtext} end
redis.call('HSET', KEYS[1], 'since', '0', 'served', '1', 'sealed_for', 'copy', 'sealed_names', 'store-copy')
return {'OK', nowtext}
