-- N0: since when the node remembers. KEYS and ARGV as in header.lua. A refusal is
-- {'CONFIG', now, what, held}.
local node = redis.call('HMGET', KEYS[1], 'member', 'run_id', 'since', 'served', 'sealed_for', 'gc_fence', 'gc_tick', 'repl_id')
if not node[1] then
  if redis.call('EXISTS', KEYS[1]) == 1 then return {'CONFIG', nowtext, 'format', '1'} end -- it has other fields
  return {'BLANK', nowtext}
end
-- Compared as one string, and split only if something differs.
local name, members, epoch, grace, format = nil, nil, nil, ARGV[2], nil
local ours = node[1] == ARGV[1]
if not ours then
  name, members, epoch, grace, format = string.match(node[1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
  if format ~= string.match(ARGV[1], '%S+$') then return {'CONFIG', nowtext, 'format', format} end
end

if run_id == 'embedded' and redis.call('HGET', KEYS[1], 'embedded') ~= '1' then run_id = nil end
if not run_id then return {'CONFIG', nowtext, 'info', why} end
local gracems = tonumber(grace)
local since = tonumber(node[3])
if run_id ~= node[2] or repl_id and repl_id ~= node[8] then
  if not string.find(ARGV[3], 'd', 1, true) then since = now end
  redis.call('HSET', KEYS[1], 'run_id', run_id, 'since', num(since))
  if repl_id then redis.call('HSET', KEYS[1], 'repl_id', repl_id) end
end
if since > now + gracems then
  since = now
  redis.call('HSET', KEYS[1], 'since', nowtext)
end
local floor = since + gracems
-- The largest token and the latest tick of the jobs forgotten here.
local gc_fence, gc_tick = tonumber(node[6] or 0), tonumber(node[7] or 0)
