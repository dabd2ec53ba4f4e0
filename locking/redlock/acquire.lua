-- N2 ACQUIRE: sets the lock for v, unless the tick is closed or somebody else
-- has the lock.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5)     mode: 0 at most once, 1 at least once
-- Replies OK fence attempts | DEAD | ABSTAIN floor | FUTURE |
-- LATER, DONE, CLAIMED, BUSY owner left holder tick token
local none = no_say()
if none then return none end

if tick then
  if overtaken() then return with_claim('LATER', stream) end
  if same_tick() then
    if get('done') == '1' then return with_claim('DONE', stream) end
    if claimed(arg(5)) then return with_claim('CLAIMED', stream) end
  end
end

if locked_out() then return with_lock('BUSY') end
redis.call('SET', lock, v, 'PX', ttl)
return reply('OK', num(fence()), attempts())
