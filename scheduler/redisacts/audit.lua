-- Reads the audit log, the newest acts first.
-- KEYS as in common.lua
-- arg(1)  at most so many
-- Replies OK JSON…
local reply = {'OK', nowtext}
for _, json in ipairs(redis.call('ZRANGE', audit, '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', arg(1))) do
  reply[#reply + 1] = json
end
return reply
