-- HOLDING: the holders of some names' locks, and the claims.
-- key(2…)  lock, marker, fence and runs of each
-- Replies OK and for each name: the lock's value ('' for none), ms until it ends (-1: never,
-- -2: no lock), the number of claims that follow, and for each claim its state, packed form,
-- and if runs may overlap the value and ms left of its tick's lock. The claims of the streams
-- come first, then older ones whose tick's lock still lasts.
local reply = {'OK', nowtext}
local function say(...)
  for _, value in ipairs({...}) do reply[#reply + 1] = value end
end
for i = 2, #KEYS, 4 do
  local lock, runs = KEYS[i], KEYS[i + 3]
  local job = string.sub(KEYS[i + 2], 1, -6)
  local streams = string.match(redis.call('GET', KEYS[i + 2]) or '', '^%S+ %S+ %S+ (.*)$') or ''
  say(redis.call('GET', lock) or '', num(redis.call('PTTL', lock)), '0')
  local at, count = #reply, 0
  -- Adds a claim if it is its stream's, or has the lock of its tick.
  local function claim(state, packed, latest)
    local tick, overlaps, stream = string.match(packed, '^(%S+) %d+ %S+ %d %d+ (%d) (%S+) ')
    local value, left = false, -2
    if overlaps == '1' then
      local its = job .. 'lock:' .. stream .. ':' .. tick
      value, left = redis.call('GET', its), redis.call('PTTL', its)
    end
    if not latest and not value then return end
    say(state, packed, value or '', num(left))
    count = count + 1
  end
  for stream in string.gmatch(streams, '[^,]+') do
    local stored = redis.call('GET', job .. 'claim.' .. stream)
    if stored then claim(string.sub(stored, 1, 1), string.sub(stored, 2), true) end
  end
  if redis.call('EXISTS', KEYS[i + 1]) == 1 then
    for _, record in ipairs(redis.call('ZRANGE', runs, '0', '-1', 'REV')) do
      if string.sub(record, 1, 1) == 'S' then claim('-', string.sub(record, 2), false) end
    end
  end
  reply[at] = num(count)
end
return reply
