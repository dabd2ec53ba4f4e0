-- Stores announcements, drops old ones, returns all others.
-- KEYS[2] hash of names to "<ms of the node's clock>|<JSON>"
-- arg(1)  how long an announcement counts, ms
-- arg(2), arg(3) … name, JSON, and so on; none for a read
-- Replies OK JSON…
local hash = KEYS[2]
if nargs > 1 then serve() end
for i = 2, nargs, 2 do redis.call('HSET', hash, arg(i), nowtext .. '|' .. arg(i + 1)) end

local reply = {'OK', nowtext}
local all = redis.call('HGETALL', hash)
for i = 1, #all, 2 do
  local at, json = string.match(all[i + 1], '^(%d+)|(.*)$')
  if not at or tonumber(at) + tonumber(arg(1)) <= now then
    redis.call('HDEL', hash, all[i])
  else
    reply[#reply + 1] = json
  end
end
return reply
