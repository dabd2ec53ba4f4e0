-- HOLDING: who has the lock, and the latest claim, of some names.
-- KEYS[2…] lock and claim of each
-- Replies OK and for each name: v that has the lock, ms until it runs out (-1:
-- never, -2: there is none); owner, token, tick, attempt, mode, holder, at,
-- done, void of the claim, empty if there is none
local fields = {'owner', 'token', 'tick', 'attempt', 'mode', 'holder', 'at', 'done', 'void'}
local reply = {'OK', nowtext}
for i = 2, #KEYS, 2 do
  local lock, claim = KEYS[i], KEYS[i + 1]
  reply[#reply + 1] = redis.call('GET', lock) or ''
  reply[#reply + 1] = num(redis.call('PTTL', lock))
  local stream = redis.call('HGET', claim, 'stream') or ''
  local names = {}
  for n, field in ipairs(fields) do names[n] = stream .. '.' .. field end
  for _, value in ipairs(redis.call('HMGET', claim, unpack(names))) do
    reply[#reply + 1] = value or ''
  end
end
return reply
