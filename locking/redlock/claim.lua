-- What the claim scripts have in common; it stands behind shares.lua. The rule says
-- begin() first. All of them take the same KEYS and begin with the same ARGV. Every
-- run makes these functions anew, so what few rules need stands in standing.lua and
-- vote.lua.
-- KEYS[2] lock of the job: v of the attempt that holds it
-- KEYS[3] claim of the job: hash of fence, stream, and per stream tick, token,
--         owner, done (2: handed over), ranout (1: the lock had gone by then, 2: and a claim of
--         another stream was accepted since), void, mode, attempt, holder, at
-- KEYS[4] tombstone of v
-- KEYS[5] runs of the job: sorted set of records by tick, and 'E' at the last that is gone
-- KEYS[6] shares of the lock, see shares.lua
-- arg(1) v, random and never used by another attempt
-- arg(2) stream
-- arg(3) tick in ms, '' for a plain lock
-- arg(4) ttl in ms
-- arg(5) 1: the attempt runs beside those of other ticks; it takes a share of
--        the lock, one per tick, not the lock
local lock, claim, dead, runs, shares
local v, stream, ticktext, tick, ttl, beside, place

local function begin()
  lock, claim, dead, runs, shares = unpack(KEYS, own.keys_before + 2, own.keys_before + 6)
  v, stream, ticktext, ttl, beside = args(1, 5)
  tick, beside = tonumber(ticktext), beside == '1'
  place = beside and stream .. ':' .. ticktext .. '.'
end

local function reply(code, ...) return {code, nowtext, ...} end

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

-- Gives up the lock or the share of it, if it is v's.
local function free()
  if redis.call('GET', lock) == v then redis.call('DEL', lock) end
  if beside and redis.call('HGET', shares, place .. 'owner') == v then drop_share_at(shares, place) end
end
