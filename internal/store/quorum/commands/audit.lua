-- Reads the audit log and the refused commands, the newest of each first.
-- KEYS as in common.lua
-- arg(1)  limit of each
-- Replies OK JSON…
local reply = {'OK', nowtext}
for _, key in ipairs({audit, KEYS[4]}) do
  for _, json in ipairs(redis.call('ZRANGE', key, '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', arg(1))) do
    reply[#reply + 1] = json
  end
end
return reply
