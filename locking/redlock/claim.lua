-- What the claim scripts have in common; it stands behind shares.lua, before the
-- rule, which says begin() first. All of them take the same KEYS and begin with
-- the same ARGV:
-- KEYS[2] lock of the job: v of the attempt that holds it
-- KEYS[3] claim of the job: hash of fence, stream, and per stream tick, token,
--         owner, done, ranout (1: the lock had gone by then, 2: and a claim of
--         another stream was accepted since), void, mode, attempt, holder, at
-- KEYS[4] tombstone of v
-- KEYS[5] runs of the job: sorted set of records by tick
-- KEYS[6] shares of the lock, see shares.lua
-- arg(1) v, random and never used by another attempt
-- arg(2) stream
-- arg(3) tick in ms, '' for a plain lock
-- arg(4) ttl in ms
-- arg(5) 1: the attempt runs beside those of other ticks; it takes a share of
--        the lock, one per tick, not the lock
local lock, claim, dead, runs, shares
local v, stream, tick, ttl, beside, place
local given_up, locker, shared -- of look_around(); given_up nil: not yet

local function begin()
  lock, claim, dead, runs, shares = key(2), key(3), key(4), key(5), key(6)
  v, stream, tick, ttl, beside = arg(1), arg(2), tonumber(arg(3)), arg(4), arg(5) == '1'
  place = beside and stream .. ':' .. arg(3) .. '.'
  given_up = nil
end

local function reply(code, ...) return {code, nowtext, ...} end

-- What is stored of the stream's claim, as recall() has read it; false: nothing.
local stored_fence, stored_tick, stored_owner, stored_token
local stored_done, stored_void, stored_mode, stored_attempt, stored_ranout
local of, of_stream -- the names of the claim's fields of a stream

local function recall()
  if of_stream ~= stream then
    local s = stream .. '.'
    of_stream, of = stream, {
      tick = s .. 'tick', owner = s .. 'owner', token = s .. 'token', done = s .. 'done', void = s .. 'void',
      mode = s .. 'mode', attempt = s .. 'attempt', ranout = s .. 'ranout', holder = s .. 'holder', at = s .. 'at',
    }
  end
  stored_fence, stored_tick, stored_owner, stored_token, stored_done, stored_void, stored_mode, stored_attempt,
    stored_ranout = unpack(redis.call('HMGET', claim, 'fence', of.tick, of.owner, of.token, of.done, of.void,
    of.mode, of.attempt, of.ranout))
end

-- The largest token accepted for the job, or for any that was forgotten: it may
-- have been this one.
local function accepted()
  return tonumber(stored_fence) or gc_fence
end

-- Answers with the claim of stream s: owner, ms until the lock ends, holder,
-- tick, token.
local function with_claim(code, s)
  local c = redis.call('HMGET', claim, s .. '.owner', s .. '.holder', s .. '.tick', s .. '.token')
  local left = redis.call('PTTL', lock)
  if c[3] then
    local share = redis.call('HMGET', shares, s .. ':' .. c[3] .. '.owner', s .. ':' .. c[3] .. '.until')
    if share[1] and share[1] == c[1] then left = tonumber(share[2]) - now end
  end
  return reply(code, c[1] or '', num(math.max(left, 0)), c[2] or '', c[3] or '', c[4] or '')
end

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
-- whoever wants the lock, and each other's attempts of the same tick.
local function in_the_way()
  if given_up == nil then look_around() end
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

-- Whether v has its share, accepted with the token. One without a token was set
-- by an ACQUIRE, perhaps an old one that arrived after others had the tick.
local function has_share(token)
  local s = redis.call('HMGET', shares, place .. 'owner', place .. 'token', place .. 'until', place .. 'done')
  return s[1] == v and s[2] == token and tonumber(s[3]) >= now, s[4] == '1'
end

-- Takes the lock or the share of it, or renews what v has.
local function take()
  if not beside then
    redis.call('SET', lock, v, 'PX', ttl)
    return
  end
  local ends = num(now + tonumber(ttl))
  if redis.call('HGET', shares, place .. 'owner') ~= v then drop_share_at(shares, place) end
  redis.call('HSET', shares, place .. 'owner', v, place .. 'until', ends)
  if redis.call('PTTL', shares) < tonumber(ttl) then redis.call('PEXPIRE', shares, ttl) end
end

-- Takes it for the stored claim, which is v's.
local function take_claimed()
  take()
  if not beside then return end
  local c = redis.call('HMGET', claim, of.token, of.attempt, of.mode, of.holder, of.at)
  redis.call('HSET', shares, place .. 'token', c[1] or '', place .. 'attempt', c[2] or '', place .. 'mode', c[3] or '',
    place .. 'holder', c[4] or '', place .. 'at', c[5] or '')
end

-- Gives up the lock or the share of it, if it is v's.
local function free()
  if redis.call('GET', lock) == v then redis.call('DEL', lock) end
  if beside and redis.call('HGET', shares, place .. 'owner') == v then drop_share_at(shares, place) end
end
