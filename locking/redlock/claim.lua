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
local known -- what was read of the claim; nil: nothing

local function begin()
  lock, claim, dead, runs, shares = key(2), key(3), key(4), key(5), key(6)
  v, stream, tick, ttl, beside = arg(1), arg(2), tonumber(arg(3)), arg(4), arg(5) == '1'
  place = stream .. ':' .. arg(3) .. '.'
  known = nil
end

local function reply(code, ...) return {code, nowtext, ...} end

-- The claim is read at once, fields in this order, and once per call; whoever
-- changes it forgets what was known.
local order = {fence = 1, tick = 2, owner = 3, token = 4, done = 5, void = 6, mode = 7, attempt = 8, ranout = 9}
local names = {} -- of the fields, by stream

local function fields()
  local f = names[stream]
  if not f then
    f = {}
    for field, i in pairs(order) do f[i] = stream .. '.' .. field end
    f[order.fence] = 'fence'
    names[stream] = f
  end
  return f
end

local function get(field)
  known = known or redis.call('HMGET', claim, unpack(fields()))
  return known[order[field]] or ''
end

-- The largest token accepted for the job, or for any that was forgotten: it may
-- have been this one.
local function accepted()
  return tonumber(get('fence')) or gc_fence
end

-- The fence of a node that may have lost its memory counts as that of the
-- largest token it can ever have accepted.
local function fence()
  local kept = accepted()
  return math.max(kept, math.ceil(floor / 1000) * 2^20)
end

-- Whether the stream has gone on to a later tick than this request's. One of
-- which nothing is kept may have been forgotten, so it stands past gc_tick.
local function overtaken()
  local stored = tonumber(get('tick'))
  if stored then return stored > tick end
  return tick <= gc_tick
end

-- Whether this request names the tick the stream stands at.
local function same_tick()
  return tick and tonumber(get('tick')) == tick
end

local function attempts()
  return same_tick() and get('attempt') or '0'
end

-- Whether the claim of the tick, which is not done, keeps others from it. Of the
-- stored and the requested mode the stricter counts: a roll-out may change it.
-- A void claim frees the tick, but one in rerun mode may lie over another that
-- did run, so only for a further rerun.
local function claimed(mode)
  if get('mode') == '0' then return get('void') ~= '1' end
  return mode == '0'
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

-- Who keeps v from the lock or, if it runs beside others, from its share: that
-- one's value, and the share if it has one. The lock keeps out everybody; shares
-- whoever wants the lock, and each other's attempts of the same tick.
local function in_the_way()
  local owner = redis.call('GET', lock)
  if owner and owner ~= v then return owner end
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
  for _, field in ipairs({'token', 'attempt', 'mode', 'holder', 'at'}) do
    redis.call('HSET', shares, place .. field, redis.call('HGET', claim, stream .. '.' .. field) or '')
  end
end

-- Gives up the lock or the share of it, if it is v's.
local function free()
  if redis.call('GET', lock) == v then redis.call('DEL', lock) end
  if beside and redis.call('HGET', shares, place .. 'owner') == v then drop_share_at(shares, place) end
end

-- Why this node has no say in the request, or nil: it gave up, it is about a
-- time that the node may have forgotten, or that lies too far ahead. Whoever
-- asks may have a clock that is ahead: until the node's own has passed the
-- floor, a lease may last that the node has forgotten.
local function no_say()
  if redis.call('EXISTS', dead) == 1 then return reply('DEAD') end
  if (tick or now) <= floor then return reply('ABSTAIN', num(floor)) end
  if tick and (now <= floor or tick > now + gracems / 2) then return reply('FUTURE') end
  return nil
end

-- N2.2: why the tick is closed, or nil. COMMIT goes over a claim of v's own.
local function closed(mode, mine)
  if not tick then return nil end
  if overtaken() then return with_claim('LATER', stream) end
  if not same_tick() then return nil end
  if get('done') == '1' then return with_claim('DONE', stream) end
  if not mine and claimed(mode) then return with_claim('CLAIMED', stream) end
  return nil
end

-- N2: why the tick is not to be had here by anybody new, or nil.
local function obstacle(mode)
  local no = no_say() or closed(mode, false)
  if not no and in_the_way() then no = in_the_way_of('BUSY') end
  return no
end
