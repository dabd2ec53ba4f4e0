-- N0: since when does the node remember? KEYS and ARGV as in head.lua.
-- A refusal is {'CONFIG', now, what, held}.
local node = redis.call('HMGET', KEYS[1], 'format', 'name', 'members', 'epoch',
  'grace', 'run_id', 'since', 'embedded', 'sealed_for', 'names', 'served',
  'gc_fence', 'gc_tick')
if not node[1] then return {'BLANK', nowtext} end
if tonumber(node[1]) > tonumber(ARGV[5]) then
  return {'CONFIG', nowtext, 'format', node[1]}
end

local id, why = runid(node[8] == '1' and ARGV[7] == '1')
if not id then return {'CONFIG', nowtext, 'info', why} end
local gracems = tonumber(node[5])
local since = tonumber(node[7])
if id ~= node[6] then
  if ARGV[6] ~= '1' then since = now end
  redis.call('HSET', KEYS[1], 'run_id', id, 'since', num(since))
end
if since > now + gracems then
  since = now
  redis.call('HSET', KEYS[1], 'since', nowtext)
end
local floor = since + gracems
-- The largest token and the latest tick of the jobs that were forgotten here.
local gc_fence, gc_tick = tonumber(node[12] or '0'), tonumber(node[13] or '0')
