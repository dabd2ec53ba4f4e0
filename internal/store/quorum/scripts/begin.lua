-- The start of every rule about a try: reads its stored state at once.
-- NewScript in package membership (node.go) lists what is defined before: now, floor, gracems,
-- num, serve, args_before and others.
-- key(2..8)  lock, blocker, marker, fence, claim, tombstone, runs: see Keys in scripts.go
-- arg(1..5)  v, stream, tick in ms ('' for a plain lock), ttl in ms, 1: runs may overlap
-- What the rules read, false or nil where nothing is stored:
-- lock, blocker, marker, dead  the values of these keys
-- accepted, open, place, streams  of the fence: the largest token, the v of the open claim, the
-- tick that it may overlap others for, and the streams, each '-' or '' for none
-- state, c_tick, owner, c_mode, c_attempt  of the stream's claim. State: '-' open; O, R or L ended
-- as OK, RANOUT or LATE; o, r or l the same, handed over; V void
-- mine  the lock is this try's
-- rival, rival_key  the v that blocks this try, and the key that says so
local lock_key, blocker_key, marker_key, fence_key, claim_key, dead_key, runs_key = unpack(KEYS, keys_before + 2, keys_before + 8)
local v, stream, ticktext, ttl, overlaps = unpack(ARGV, args_before + 1, args_before + 5)
local tick = tonumber(ticktext)
overlaps = overlaps == '1'
local lock, blocker, marker, fence, claim, dead =
  unpack(redis.call('MGET', lock_key, blocker_key, marker_key, fence_key, claim_key, dead_key))
local accepted, open, place, streams = nil, '-', '-', ''
if fence then accepted, open, place, streams = string.match(fence, '^(%S+) (%S+) (%S+) (.*)$') end
local state, c_tick, owner, c_mode, c_attempt
if claim then state, c_tick, owner, c_mode, c_attempt = string.match(claim, '^(.)(%S+) %d+ (%S+) (%d) (%d+) ') end
local mine = lock == v or lock == '?' .. v
-- The job's lock blocks all, the marker tries for the job's lock.
local rival, rival_key = lock, lock_key
if overlaps and blocker then rival, rival_key = blocker, blocker_key end
if rival == v or rival == '?' .. v then rival = nil end
if marker and not overlaps and not rival then rival, rival_key = open, marker_key end
-- For refuse.lua: the code of the answer, and the v to name; nil: that of the stream's
-- claim.
local code, by
