-- Lists some of what was published and how long ago, drops what is too old.
-- KEYS[2] hash of names to "<ms of the node's clock>|<account>|<JSON>", see publish.lua
-- arg(1)  how long it is kept, ms
-- arg(2)  where to go on: '0' at first, then what the last reply said
-- arg(3)  about how many at once
-- Replies OK, where to go on ('0': that was all), then of each age and account|JSON
-- What stays published all the while is listed, some of it perhaps twice.
local page = redis.pcall('HSCAN', KEYS[2], arg(2), 'COUNT', arg(3))
if page.err then page = {'0', redis.call('HGETALL', KEYS[2])} end -- a user with older rules must not scan
local reply, some = {'OK', nowtext, page[1]}, page[2]
for i = 1, #some, 2 do
  local at, json = string.match(some[i + 1], '^(%d+)|(.*)$')
  if not at or tonumber(at) + tonumber(arg(1)) <= now then
    redis.call('HDEL', KEYS[2], some[i])
  else
    reply[#reply + 1] = num(now - tonumber(at))
    reply[#reply + 1] = json
  end
end
return reply
