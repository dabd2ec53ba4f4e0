-- N1: is the node one of ours? KEYS and ARGV as in head.lua.
if node[3] ~= ARGV[2] then return {'CONFIG', nowtext, 'members', node[10]} end
if node[4] ~= ARGV[3] then return {'CONFIG', nowtext, 'epoch', node[4]} end
if node[2] ~= ARGV[1] then return {'CONFIG', nowtext, 'name', node[2]} end
if node[5] ~= ARGV[4] then return {'CONFIG', nowtext, 'grace', node[5]} end
if node[9] and ARGV[8] ~= '1' then
  return {'CONFIG', nowtext, 'sealed', redis.call('HGET', KEYS[1], 'sealed_names') or node[9]}
end
if tonumber(ARGV[9]) >= gracems then return {'CONFIG', nowtext, 'ttl', node[5]} end

local function serve()
  if node[11] then return end
  redis.call('HSET', KEYS[1], 'served', '1')
  node[11] = '1'
end
