-- N8 FORGET: drops what is kept of a job that was removed. Its tokens and ticks
-- stay closed, here for every job of which nothing is kept.
-- KEYS[2..7] lock, claim, runs, notes, logs, shares
-- Replies OK | NONE where nothing is kept | BUSY while the lock, or a share of
-- it, is held
local lock, claim, runs, notes, logs, shares = unpack(KEYS, 2, 7)
local _, held = shares_at(shares)
if redis.call('EXISTS', lock) == 1 or #held > 0 then return {'BUSY', nowtext} end
-- A node that was away while a job ran may have been given the run's log alone.
if redis.call('EXISTS', claim, runs, notes, logs) == 0 then return {'NONE', nowtext} end

local fence, tick = gc_fence, gc_tick
local kept = redis.call('HGETALL', claim)
for i = 1, #kept, 2 do
  local value = tonumber(kept[i + 1])
  if kept[i] == 'fence' then fence = math.max(fence, value) end
  if value and string.find(kept[i], '%.tick$') then tick = math.max(tick, value) end
end
redis.call('HSET', KEYS[1], 'gc_fence', num(fence), 'gc_tick', num(tick))
redis.call('DEL', claim, runs, notes, logs, shares)
return {'OK', nowtext}
