-- Whether a node votes for an attempt; it stands behind standing.lua in the scripts
-- that ask for that.

-- The fence of a node that may have lost its memory counts as that of the
-- largest token it can ever have accepted.
local function fence()
  local kept = accepted()
  return math.max(kept, math.ceil(floor / 1000) * 2^20)
end

-- Whether the stream has gone on to a later tick than this request's. One of
-- which nothing is kept may have been forgotten, so it stands past gc_tick.
local function overtaken()
  local at = tonumber(stored_tick)
  if at then return at > tick end
  return tick <= gc_tick
end

-- Whether this request names the tick the stream stands at.
local function same_tick()
  return tick and tonumber(stored_tick) == tick
end

local function attempts()
  return same_tick() and (stored_attempt or '') or '0'
end

-- Whether the claim of the tick, which is not done, keeps others from it. Of the
-- stored and the requested mode the stricter counts: a roll-out may change it.
-- A void claim frees the tick, but one in rerun mode may lie over another that
-- did run, so only for a further rerun.
local function claimed(mode)
  if stored_mode == '0' then return stored_void ~= '1' end
  return mode == '0'
end

-- Why this node has no say in the request, or nil: it gave up, it is about a
-- time that the node may have forgotten, or that lies too far ahead. Whoever
-- asks may have a clock that is ahead: until the node's own has passed the
-- floor, a lease may last that the node has forgotten.
local function no_say()
  look_around()
  if given_up then return reply('DEAD') end
  if (tick or now) <= floor then return reply('ABSTAIN', num(floor)) end
  if tick and (now <= floor or tick > now + gracems / 2) then return reply('FUTURE') end
  return nil
end

-- N2.2: why the tick is closed, or nil. COMMIT goes over a claim of v's own.
local function closed(mode, mine)
  if not tick then return nil end
  if overtaken() then return with_claim('LATER', stream) end
  if not same_tick() then return nil end
  if stored_done == '1' then return with_claim('DONE', stream) end
  if not mine and claimed(mode) then return with_claim('CLAIMED', stream) end
  return nil
end

-- N2: why the tick is not to be had here by anybody new, or nil.
local function obstacle(mode)
  local no = no_say()
  if no then return no end
  recall()
  no = closed(mode, false)
  if not no and in_the_way() then no = in_the_way_of('BUSY') end
  return no
end
