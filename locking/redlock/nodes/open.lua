-- OPEN: makes a node a member of the new list, for a client that has seen a
-- quorum of the old one sealed for it. Asking again is harmless. KEYS and ARGV
-- as in head.lua, of the new list; the rule's own:
-- ARGV[10]  names of the members
-- ARGV[11]  the latest clock reading of that quorum's seals, ms
-- ARGV[12]  hash of the old list
-- The node is blank, or a member of the old list, sealed or not: a seal for
-- another target has lost, now that a quorum is sealed for this one. Then it
-- keeps its claims. It remembers since now, but not before the seals: what the
-- old list granted lies at most half a grace beyond them.
-- Replies OK, or HELD if it was open before, both with the floor.
local held = redis.call('HMGET', KEYS[1], 'format', 'name', 'members', 'epoch',
  'grace', 'since', 'names')
if held[1] then
  if tonumber(held[1]) > tonumber(ARGV[5]) then return {'CONFIG', nowtext, 'format', held[1]} end
  if held[3] == ARGV[2] and held[4] == ARGV[3] then
    return {'HELD', nowtext, num(tonumber(held[6]) + tonumber(held[5]))}
  end
  if held[3] ~= ARGV[12] or tonumber(held[4]) + 1 ~= tonumber(ARGV[3]) then
    return {'CONFIG', nowtext, 'members', held[7]}
  end
  if held[2] ~= ARGV[1] then return {'CONFIG', nowtext, 'name', held[2]} end
end
local id, why = runid(ARGV[7] == '1')
if not id then return {'CONFIG', nowtext, 'info', why} end
local gracems, sealed = tonumber(ARGV[4]), tonumber(ARGV[11])
if tonumber(ARGV[9]) >= gracems then return {'CONFIG', nowtext, 'ttl', ARGV[4]} end
-- Further ahead, the since would not survive a clock that is set back.
if sealed > now + gracems / 2 then return {'CONFIG', nowtext, 'clock', num(sealed - now)} end

local since = math.max(now, sealed)
redis.call('HSET', KEYS[1], 'format', ARGV[5], 'name', ARGV[1], 'members', ARGV[2],
  'epoch', ARGV[3], 'grace', ARGV[4], 'run_id', id, 'since', num(since),
  'embedded', id == 'embedded' and '1' or '0', 'names', ARGV[10],
  'served', '1', 'sealed_at', num(sealed))
redis.call('HDEL', KEYS[1], 'sealed_for', 'sealed_names')
return {'OK', nowtext, num(since + gracems)}
