-- FORMAT: makes a blank node a member. KEYS and ARGV as in header.lua, then
-- arg(1)  0: the node never served this namespace; 1: it may have
-- arg(2)  names of the members, shown to clients of another list
-- arg(3)  after a change of the list: the latest clock reading of the seals, as in
-- open.lua; else 0
-- Replies OK, or HELD if another replica was faster, both with the floor.
local _, our_members, our_epoch, our_grace, our_format = string.match(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
local held = redis.call('HMGET', KEYS[1], 'member', 'names', 'since')
if held[1] then
  local members, epoch, grace, format = string.match(held[1], '^%S+ (%S+) (%S+) (%S+) (%S+)$')
  if format ~= our_format then return {'CONFIG', nowtext, 'format', format} end
  if members ~= our_members then return {'CONFIG', nowtext, 'members', held[2]} end
  if epoch ~= our_epoch then return {'CONFIG', nowtext, 'epoch', epoch} end
  return {'HELD', nowtext, num(tonumber(held[3]) + tonumber(grace))}
end
if held[3] then return {'CONFIG', nowtext, 'format', '1'} end
if not run_id then return {'CONFIG', nowtext, 'info', why} end
local gracems, sealed = tonumber(our_grace), tonumber(arg(3))
if tonumber(ARGV[4]) >= gracems then return {'CONFIG', nowtext, 'ttl', our_grace} end
if sealed > now + gracems / 2 then return {'CONFIG', nowtext, 'clock', num(sealed - now)} end
local since = arg(1) == '1' and math.max(now, sealed) or 0
redis.call('HSET', KEYS[1], 'member', ARGV[1], 'run_id', run_id, 'since', num(since),
  'embedded', run_id == 'embedded' and '1' or '0', 'names', arg(2))
if repl_id then redis.call('HSET', KEYS[1], 'repl_id', repl_id) end
if sealed > 0 then redis.call('HSET', KEYS[1], 'served', '1', 'sealed_at', arg(3)) end
return {'OK', nowtext, num(since + gracems)}
