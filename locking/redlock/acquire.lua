-- N2 ACQUIRE: sets the lock for v, or its share, unless the tick is closed or
-- somebody else is in the way.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     mode: 0 at most once, 1 at least once
-- Replies OK fence attempts | DEAD | ABSTAIN floor | FUTURE |
-- LATER, DONE, CLAIMED, BUSY owner left holder tick token
local none = no_say()
if none then return none end

if tick then
  if overtaken() then return with_claim('LATER', stream) end
  if same_tick() then
    if get('done') == '1' then return with_claim('DONE', stream) end
    if claimed(arg(6)) then return with_claim('CLAIMED', stream) end
  end
end

if in_the_way() then return in_the_way_of('BUSY') end
take()
return reply('OK', num(fence()), attempts())
