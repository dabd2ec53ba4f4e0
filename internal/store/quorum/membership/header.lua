-- The header of every request, and the server's own data.
-- KEYS[1]  ns:node
-- ARGV[1]  compared with the record: the node's name, as this client lists it, hash of the
-- list of members, epoch of the list, restart grace in ms, format version
-- ARGV[2]  the restart grace again
-- ARGV[3]  letters: d durable, a restart loses nothing; e the node may be an embedded
-- one; s also on a sealed node; f another server may take the place of this one
-- ARGV[4]  ttl of leases, ms

-- The run_id of the server. It is 'embedded' if the caller allows it and an embedded node's
-- own error says that it has none, and 'unseen' if INFO is denied and no restart loses
-- anything; else nil and why. A server that denies INFO never counts as embedded.
-- With f also its repl_id, which changes when a server is promoted: one that was the master
-- before has the same run_id, but may lack what was granted meanwhile.
local run_id, repl_id, why, nowtext
local info = redis.pcall('INFO', 'server')
if type(info) == 'string' then
  local _, before = string.find(info, 'run_id:', 1, true)
  run_id = before and string.match(info, '^%w+', before + 1)
  why = 'INFO server names no run_id'
  if run_id and string.find(ARGV[3], 'f', 1, true) then
    repl_id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  end
  _, before = string.find(info, 'server_time_usec:', before or 1, true)
  nowtext = before and string.match(info, '^(%d+)%d%d%d', before + 1)
else
  why = type(info) == 'table' and info.err or 'INFO answered nothing'
  local embedded = string.find(ARGV[3], 'e', 1, true)
  if embedded and string.find(why, 'section (server) is not supported', 1, true) then run_id = 'embedded' end
end
if not run_id and string.find(ARGV[3], 'd', 1, true) then run_id = 'unseen' end
if not nowtext then -- older servers do not report it
  local clock = redis.call('TIME')
  nowtext = num(tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
end
local now = tonumber(nowtext)
