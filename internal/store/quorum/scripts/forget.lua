-- N8 FORGET: deletes the data of a job. Its tokens and ticks stay closed, for every job
-- that this node does not know.
-- key(2..7)  fence, lock, marker, runs, notes, logs
-- Replies OK | NONE if nothing is stored | BUSY while a lock may be held
local kept = {key(2), key(5), key(6), key(7)}
if redis.call('EXISTS', key(3), key(4)) > 0 then return {'BUSY', nowtext} end
-- A node that was down while a job ran may hold only the log of the run.
if redis.call('EXISTS', unpack(kept)) == 0 then return {'NONE', nowtext} end

local fence, streams = string.match(redis.call('GET', key(2)) or '0 - - ', '^(%d+) %S+ %S+ (.*)$')
local tick = gc_tick
for stream in string.gmatch(streams, '[^,]+') do
  local claim = string.sub(key(2), 1, -6) .. 'claim.' .. stream
  local at = string.match(redis.call('GET', claim) or '', '^.(%d+)')
  tick = math.max(tick, tonumber(at) or 0)
  kept[#kept + 1] = claim
end
redis.call('HSET', KEYS[1], 'gc_fence', num(math.max(gc_fence, tonumber(fence))), 'gc_tick', num(tick))
redis.call('DEL', unpack(kept))
return {'OK', nowtext}
