-- N9 LOOK: what ACQUIRE would say to somebody new. It changes nothing.
-- KEYS[2..6] lock, claim, tombstone of nobody, runs, shares
-- arg(1..5)  '' for nobody, stream, tick, ttl, beside
-- arg(6)     mode: 0 at most once, 1 at least once
-- Replies as ACQUIRE does
begin()
return obstacle(arg(6)) or reply('OK', num(fence()), attempts())
