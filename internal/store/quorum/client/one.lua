-- The end of a request with one call: runs the rule and inserts the floor after code
-- and clock.
local reply = rule()
if reply.err == nil then table.insert(reply, 3, num(floor)) end
return reply
