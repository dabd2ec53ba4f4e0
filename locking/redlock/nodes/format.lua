-- FORMAT: makes a blank node a member. KEYS and ARGV as in head.lua, then
-- ARGV[10]  0: the node never served this namespace; 1: it may have
-- ARGV[11]  names of the members, to be shown to clients of another list
if redis.call('HGET', KEYS[1], 'format') then return {'HELD', nowtext} end
local id, why = runid(ARGV[7] == '1')
if not id then return {'CONFIG', nowtext, 'info', why} end
if tonumber(ARGV[9]) >= tonumber(ARGV[4]) then return {'CONFIG', nowtext, 'ttl', ARGV[4]} end
local since = arg(1) == '1' and now or 0
redis.call('HSET', KEYS[1], 'format', ARGV[5], 'name', ARGV[1], 'members', ARGV[2],
  'epoch', ARGV[3], 'grace', ARGV[4], 'run_id', id, 'since', num(since),
  'embedded', id == 'embedded' and '1' or '0', 'names', arg(2))
return {'OK', nowtext, num(since + tonumber(ARGV[4]))}
