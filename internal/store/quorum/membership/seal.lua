-- SEAL: closes this node of the old list for everything but reads and finishes, for the
-- change to one target. It may be repeated. KEYS and ARGV as in header.lua, then
-- arg(1)  the target: hash of the new list, ":", its epoch
-- arg(2)  names of the new list
-- Replies OK sealed_at, the latest reading of the node's clock when it was first sealed, or
-- OTHER with the names of the list that it is sealed for already.
local target = redis.call('HMGET', KEYS[1], 'sealed_for', 'sealed_names', 'sealed_at')
if not target[1] then
  -- A clock that was set back has read more than it does now.
  target[3] = num(math.max(now, since))
  redis.call('HSET', KEYS[1], 'sealed_for', arg(1), 'sealed_names', arg(2), 'sealed_at', target[3])
elseif target[1] ~= arg(1) then
  return {'OTHER', nowtext, target[2]}
end
return {'OK', nowtext, target[3]}
