-- N6 VOID: the try will never run. Its claim frees the tick; fence and tick stay. After
-- begin.lua:
-- arg(6)  packed claim, '' if there is none
-- arg(7)  1: a request of v may still arrive
-- Replies OK
local packed, straggler = arg(6), arg(7)
serve()
if mine then redis.call('DEL', lock_key) end
if owner == v then
  if open == v then fence = accepted .. ' - - ' .. streams end
  if state == '-' then redis.call('MSET', fence_key, fence, claim_key, 'V' .. string.sub(claim, 2)) end
elseif packed ~= '' then
  redis.call('ZREM', runs_key, 'S' .. packed) -- a later claim has moved it there
end
if straggler == '1' then redis.call('SET', dead_key, '1', 'PX', num(2 * tonumber(ttl)), 'NX') end
return {'OK', nowtext}
