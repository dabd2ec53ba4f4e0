-- OPEN: makes a node a member of the new list. The client must have seen a quorum of
-- the old list sealed for it. It may be repeated. KEYS and ARGV as in header.lua, of
-- the new list, then
-- arg(1)  names of the members
-- arg(2)  the latest clock reading of that quorum's seals, ms
-- arg(3)  hash of the old list
-- The node is blank, or a member of the old list, sealed or not: a quorum is sealed for
-- this target, so a seal for another has lost. A member keeps its claims. It remembers
-- since now, or since the latest seal if that is later: what the old list granted is at
-- most half a grace after the seals.
-- Replies OK, or HELD if it was open before, both with the floor.
local our_name, our_members, our_epoch, our_grace, our_format = string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
local held = redis.call('HMGET', KEYS[1], 'member', 'since', 'names')
if held[1] then
  local name, members, epoch, grace, format = string.match(held[1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if format ~= our_format then return {'CONFIG', nowtext, 'format', format} end
  if members == our_members and epoch == our_epoch then
    return {'HELD', nowtext, num(tonumber(held[2]) + tonumber(grace))}
  end
  if members ~= arg(3) or tonumber(epoch) + 1 ~= tonumber(our_epoch) then
    return {'CONFIG', nowtext, 'members', held[3]}
  end
  if name ~= our_name then return {'CONFIG', nowtext, 'name', name} end
elseif held[2] then
  return {'CONFIG', nowtext, 'format', '1'}
end
if not run_id then return {'CONFIG', nowtext, 'info', why} end
local gracems, sealed = tonumber(our_grace), tonumber(arg(2))
if tonumber(ARGV[4]) >= gracems then return {'CONFIG', nowtext, 'ttl', our_grace} end
-- A larger since would not survive a clock that is set back.
if sealed > now + gracems / 2 then return {'CONFIG', nowtext, 'clock', num(sealed - now)} end

local since = math.max(now, sealed)
redis.call('HSET', KEYS[1], 'member', ARGV[1], 'run_id', run_id, 'since', num(since),
  'embedded', run_id == 'embedded' and '1' or '0', 'names', arg(1),
  'served', '1', 'sealed_at', num(sealed))
if repl_id then redis.call('HSET', KEYS[1], 'repl_id', repl_id) end
redis.call('HDEL', KEYS[1], 'sealed_for', 'sealed_names')
return {'OK', nowtext, num(since + gracems)}
