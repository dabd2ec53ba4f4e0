-- Lists what was published and how long ago, drops what is too old.
-- KEYS[2] hash of names to "<ms of the node's clock>|<JSON>"
-- arg(1)  how long it is kept, ms
-- Replies OK age JSON age JSON…
local reply = {'OK', nowtext}
local all = redis.call('HGETALL', KEYS[2])
for i = 1, #all, 2 do
  local at, json = string.match(all[i + 1], '^(%d+)|(.*)$')
  if not at or tonumber(at) + tonumber(arg(1)) <= now then
    redis.call('HDEL', KEYS[2], all[i])
  else
    reply[#reply + 1] = num(now - tonumber(at))
    reply[#reply + 1] = json
  end
end
return reply
