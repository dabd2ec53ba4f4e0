-- N2 ACQUIRE: sets the lock for v, or its share, unless the tick is closed or
-- somebody else is in the way.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     mode: 0 at most once, 1 at least once
-- Replies OK fence attempts | DEAD | ABSTAIN floor | FUTURE |
-- LATER, DONE, CLAIMED, BUSY owner left holder tick token
begin()
local no = obstacle(arg(6))
if no then return no end
take()
return reply('OK', num(fence()), attempts())
