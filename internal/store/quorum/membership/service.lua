-- SERVICE: whose namespace this is. KEYS and ARGV as in header.lua, then
-- arg(1)  the name of a service, kept if the node has none; '' only reads
-- arg(2)  1: kept in place of another
-- Replies OK and the name that the node has now, '' for none.
local kept = redis.call('HGET', KEYS[1], 'service') or ''
if arg(1) ~= '' and (kept == '' or arg(2) == '1') then
  kept = arg(1)
  redis.call('HSET', KEYS[1], 'service', kept)
end
return {'OK', nowtext, kept}
