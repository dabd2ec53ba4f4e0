-- Lists a page of published jobs and their ages, and drops old ones.
-- KEYS[2] hash of names to "<ms of the node's clock>|<account>|<JSON>", see publish.lua
-- arg(1)  how long a job is kept, ms
-- arg(2)  cursor: '0' at first, then that of the last reply
-- arg(3)  approximate number per page
-- Replies OK, cursor ('0' at the end), then of each age and account|JSON
-- A job that stays published meanwhile is listed, perhaps twice.
local page = redis.call('HSCAN', KEYS[2], arg(2), 'COUNT', arg(3))
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
