-- Runs the rule for the call at hand and adds what the client wants to know of
-- every node: the floor, after code and clock.
local function run()
  local reply = rule()
  if reply.err == nil then table.insert(reply, 3, num(floor)) end
  return reply
end
