-- The header of every request, and the server's own data.
-- KEYS[1]  ns:node
-- ARGV[1]  compared with the record: the node's name, as this client lists it, hash of the
-- list of members, epoch of the list, restart grace in ms, format version
-- ARGV[2]  the restart grace again
-- ARGV[3]  letters: d durable, a restart loses nothing; e the node may be an embedded
-- one; s also on a sealed node
-- ARGV[4]  ttl of leases, ms

-- The run_id of the server; 'embedded' if the caller allows it and an embedded node's
-- own error says that it has none; else nil and why. A server that denies INFO never
-- counts as embedded.
local run_id, why, nowtext
local info = redis.pcall('INFO', 'server')
if type(info) == 'string' then
  local _, before = string.find(info, 'run_id:', 1, true)
  run_id = before and string.match(info, '^%w+', before + 1)
  why = 'INFO server names no run_id'
  _, before = string.find(info, 'server_time_usec:', before or 1, true)
  nowtext = before and string.match(info, '^(%d+)%d%d%d', before + 1)
else
  why = type(info) == 'table' and info.err or 'INFO answered nothing'
  local embedded = string.find(ARGV[3], 'e', 1, true)
  if embedded and string.find(why, 'section (server) is not supported', 1, true) then run_id = 'embedded' end
end
if not nowtext then -- older servers do not report it
  local clock = redis.call('TIME')
  nowtext = num(tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
end
local now = tonumber(nowtext)
