-- FORMAT: makes a blank node a member. KEYS and ARGV as in head.lua, then
-- ARGV[10]  0: the node never served this namespace; 1: it may have
-- ARGV[11]  names of the members, to be shown to clients of another list
-- ARGV[12]  of a list that came from another: the latest clock reading of the
--           seals, as in open.lua; else 0
-- Answers HELD if somebody else was faster, with the same list.
local held = redis.call('HMGET', KEYS[1], 'members', 'epoch', 'names', 'since', 'grace')
if held[1] then
  if held[1] ~= ARGV[2] then return {'CONFIG', nowtext, 'members', held[3]} end
  if held[2] ~= ARGV[3] then return {'CONFIG', nowtext, 'epoch', held[2]} end
  return {'HELD', nowtext, num(tonumber(held[4]) + tonumber(held[5]))}
end
local id, why = runid(ARGV[7] == '1')
if not id then return {'CONFIG', nowtext, 'info', why} end
local gracems, sealed = tonumber(ARGV[4]), tonumber(ARGV[12])
if tonumber(ARGV[9]) >= gracems then return {'CONFIG', nowtext, 'ttl', ARGV[4]} end
if sealed > now + gracems / 2 then return {'CONFIG', nowtext, 'clock', num(sealed - now)} end
local since = arg(1) == '1' and math.max(now, sealed) or 0
redis.call('HSET', KEYS[1], 'format', ARGV[5], 'name', ARGV[1], 'members', ARGV[2],
  'epoch', ARGV[3], 'grace', ARGV[4], 'run_id', id, 'since', num(since),
  'embedded', id == 'embedded' and '1' or '0', 'names', arg(2))
if sealed > 0 then redis.call('HSET', KEYS[1], 'served', '1', 'sealed_at', ARGV[12]) end
return {'OK', nowtext, num(since + gracems)}
