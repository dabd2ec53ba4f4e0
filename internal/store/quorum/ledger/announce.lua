-- Stores announcements, drops old ones, returns the replicas that were heard lately.
-- KEYS[2] hash of ids to "<ms of the node's clock>|<JSON>"
-- arg(1)  how long an announcement counts, ms
-- arg(2)  how long one of a replica that fell silent is kept, ms
-- arg(3)  how many of those are kept
-- arg(4)  1: return those, too
-- arg(5), arg(6) … id, JSON, and so on; none for a read
-- Replies OK, JSON of each, and of those that fell silent, the latest first, "lost|JSON"…
local hash = KEYS[2]
if nargs > 4 then serve() end
for i = 5, nargs, 2 do redis.call('HSET', hash, arg(i), nowtext .. '|' .. arg(i + 1)) end

local reply, silent = {'OK', nowtext}, {}
local all = redis.call('HGETALL', hash)
for i = 1, #all, 2 do
  local at, json = string.match(all[i + 1], '^(%d+)|(.*)$')
  at = tonumber(at or 0)
  if at + tonumber(arg(1)) > now then
    reply[#reply + 1] = json
  elseif at + tonumber(arg(2)) > now then
    silent[#silent + 1] = {at, all[i], json}
  else
    redis.call('HDEL', hash, all[i])
  end
end
table.sort(silent, function(x, y) return x[1] > y[1] or x[1] == y[1] and x[2] < y[2] end)
for i, one in ipairs(silent) do
  if i > tonumber(arg(3)) then
    redis.call('HDEL', hash, one[2])
  elseif arg(4) == '1' then
    reply[#reply + 1] = 'lost|' .. one[3]
  end
end
return reply
