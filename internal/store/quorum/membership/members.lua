-- N1: checks that the node belongs to this client's list. KEYS and ARGV as in
-- header.lua.
if not ours then
  local our_name, our_members, our_epoch = string.match(ARGV[1], '^(%S+) (%S+) (%S+)')
  if members ~= our_members then return {'CONFIG', nowtext, 'members', redis.call('HGET', KEYS[1], 'names')} end
  if epoch ~= our_epoch then return {'CONFIG', nowtext, 'epoch', epoch} end
  if name ~= our_name then return {'CONFIG', nowtext, 'name', name} end
  if grace ~= ARGV[2] then return {'CONFIG', nowtext, 'grace', grace} end
end
if node[5] and not string.find(ARGV[3], 's', 1, true) then
  return {'CONFIG', nowtext, 'sealed', redis.call('HGET', KEYS[1], 'sealed_names') or node[5]}
end
if tonumber(ARGV[4]) >= gracems then return {'CONFIG', nowtext, 'ttl', grace} end

local function serve()
  if node[4] then return end
  redis.call('HSET', KEYS[1], 'served', '1')
  node[4] = '1'
end
