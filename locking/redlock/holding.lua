-- HOLDING: who has the lock, its shares, and the latest claim, of some names.
-- KEYS[2…] lock, claim and shares of each
-- Replies OK and for each name: v that has the lock, ms until it runs out (-1:
-- never, -2: there is none); stream, owner, token, tick, attempt, mode, holder,
-- at, done, void of the claim, empty if there is none; how many shares count, and
-- of each its stream, tick, owner, ms left, token, attempt, mode, holder, at
local fields = {'owner', 'token', 'tick', 'attempt', 'mode', 'holder', 'at', 'done', 'void'}
local of_share = {'token', 'attempt', 'mode', 'holder', 'at'}
local reply = {'OK', nowtext}
local function say(value) reply[#reply + 1] = value or '' end
for i = 2, #KEYS, 3 do
  local lock, claim = KEYS[i], KEYS[i + 1]
  say(redis.call('GET', lock))
  say(num(redis.call('PTTL', lock)))
  local stream = redis.call('HGET', claim, 'stream') or ''
  say(stream)
  local names = {}
  for n, field in ipairs(fields) do names[n] = stream .. '.' .. field end
  for _, value in ipairs(redis.call('HMGET', claim, unpack(names))) do say(value) end
  local found, places = shares_at(KEYS[i + 2])
  say(num(#places))
  for _, place in ipairs(places) do
    local s = found[place]
    local of, tick = string.match(place, '^(.*):(%d*)%.$')
    say(of)
    say(tick)
    say(s.owner)
    say(num(tonumber(s['until']) - now))
    for _, field in ipairs(of_share) do say(s[field]) end
  end
end
return reply
