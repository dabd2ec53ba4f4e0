-- What the claim scripts share; it stands between the nodes' prelude and the
-- rule. All of them take the same KEYS and begin with the same ARGV:
-- KEYS[2] lock of the job: v of the attempt that holds it
-- KEYS[3] claim of the job: hash of fence, stream, and per stream tick, token,
--         owner, done, ranout (1: the lock had gone by then, 2: and a claim of
--         another stream was accepted since), void, mode, attempt, holder, at
-- KEYS[4] tombstone of v
-- KEYS[5] runs of the job: sorted set of records by tick
-- arg(1) v, random and never used by another attempt
-- arg(2) stream
-- arg(3) tick in ms, '' for a plain lock
-- arg(4) ttl in ms
local lock, claim, dead, runs = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local v, stream, tick, ttl = arg(1), arg(2), tonumber(arg(3)), arg(4)

local function reply(code, ...) return {code, nowtext, ...} end

local function get(field)
  return redis.call('HGET', claim, stream .. '.' .. field) or ''
end

-- The largest token accepted for the job, or for any that was forgotten: it may
-- have been this one.
local function accepted()
  return tonumber(redis.call('HGET', claim, 'fence') or num(gc_fence))
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
  local left = math.max(redis.call('PTTL', lock), 0)
  return reply(code, c[1] or '', num(left), c[2] or '', c[3] or '', c[4] or '')
end

-- Answers with whoever holds the lock, and with its claim if it got that far.
local function with_lock(code)
  local owner = redis.call('GET', lock) or ''
  local s = redis.call('HGET', claim, 'stream')
  if s and redis.call('HGET', claim, s .. '.owner') == owner then
    return with_claim(code, s)
  end
  return reply(code, owner, num(math.max(redis.call('PTTL', lock), 0)), '', '', '')
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

-- Whether the lock is somebody else's.
local function locked_out()
  local owner = redis.call('GET', lock)
  return owner and owner ~= v
end
