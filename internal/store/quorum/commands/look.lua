-- Reads all commands but those under k:.
-- KEYS as in common.lua
-- arg(1)  the version that the reader knows, '' for none
-- Replies OK, 1 if the node's memory is complete, the version, then field and value of each
-- register; or SAME and that 1 if the reader knows the version. A node that may have lost its
-- memory is not complete yet.
local version, vouches = redis.call('HGET', commands, 'version') or '0', now > floor and '1' or '0'
if arg(1) == version then return {'SAME', nowtext, vouches} end
local reply, all = {'OK', nowtext, vouches, version}, redis.call('HGETALL', commands)
for i = 1, #all, 2 do
  local kind = string.sub(all[i], 1, 2)
  if kind == 'a:' or kind == 'p:' then
    reply[#reply + 1] = all[i]
    reply[#reply + 1] = all[i + 1]
  end
end
return reply
