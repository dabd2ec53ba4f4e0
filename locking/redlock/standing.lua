-- What stands against an attempt, or for it: the stored claim of its stream, and who
-- has the lock. It stands behind claim.lua in the scripts that ask.

-- What is stored of the stream's claim, as recall() has read it; false: nothing.
local stored_fence, stored_tick, stored_owner, stored_token
local stored_done, stored_void, stored_mode, stored_attempt
local of, of_stream -- the names of the claim's fields of a stream

local function recall()
  if of_stream ~= stream then
    local s = stream .. '.'
    of_stream, of = stream, {
      tick = s .. 'tick', owner = s .. 'owner', token = s .. 'token', done = s .. 'done', void = s .. 'void',
      mode = s .. 'mode', attempt = s .. 'attempt', holder = s .. 'holder', at = s .. 'at',
    }
  end
  stored_fence, stored_tick, stored_owner, stored_token, stored_done, stored_void, stored_mode, stored_attempt =
    unpack(redis.call('HMGET', claim, 'fence', of.tick, of.owner, of.token, of.done, of.void,
    of.mode, of.attempt))
end

-- The largest token accepted for the job, or for any that was forgotten: it may
-- have been this one.
local function accepted()
  return tonumber(stored_fence) or gc_fence
end

local given_up, locker, shared -- as look_around() has found them

-- Finds out whether v was given up, who has the lock, and whether there are
-- shares: by one question where there is none of them, as there mostly is.
local function look_around()
  local there = redis.call('EXISTS', dead, lock, shares)
  given_up, locker, shared = false, false, false
  if there == 0 then return end
  locker = redis.call('GET', lock)
  if locker then there = there - 1 end
  given_up = there > 0 and redis.call('EXISTS', dead) == 1
  shared = there > (given_up and 1 or 0)
end

-- Who keeps v from the lock or, if it runs beside others, from its share: that
-- one's value, and the share if it has one. The lock keeps out everybody; shares
-- whoever wants the lock, and each other's attempts of the same tick. After
-- look_around().
local function in_the_way()
  if locker and locker ~= v then return locker end
  if not shared then return nil end
  local found, places = shares_at(shares)
  for _, p in ipairs(places) do
    if found[p].owner ~= v and (p == place or not beside) then return found[p].owner, found[p], p end
  end
end

-- Answers with whoever is in the way, and with its claim if it got that far.
local function in_the_way_of(code)
  local owner, share, p = in_the_way()
  if share then
    return reply(code, owner, num(tonumber(share['until']) - now), share.holder or '',
      share.token and string.match(p, ':(%d*)%.$') or '', share.token or '')
  end
  local s = redis.call('HGET', claim, 'stream')
  if s and redis.call('HGET', claim, s .. '.owner') == owner then
    return with_claim(code, s)
  end
  return reply(code, owner or '', num(math.max(redis.call('PTTL', lock), 0)), '', '', '')
end

-- Takes it for the stored claim, which is v's.
local function take_claimed()
  take()
  if not beside then return end
  local c = redis.call('HMGET', claim, of.token, of.attempt, of.mode, of.holder, of.at)
  redis.call('HSET', shares, place .. 'token', c[1] or '', place .. 'attempt', c[2] or '', place .. 'mode', c[3] or '',
    place .. 'holder', c[4] or '', place .. 'at', c[5] or '')
end
