-- The end of a request with many calls of one rule. It runs them one after the other.
-- They share the clock and the results of the checks, so a rule that changes what the
-- checks read must also update their variables.
-- KEYS[2…]  the keys of all calls, one call after the other
-- ARGV[5…]  for each call: its number of keys, its number of arguments, and these
-- Replies with one list, since nested lists cost the server more: the number of calls,
-- clock and floor, then for each call the number of words in its reply without the
-- clock, and these words. A failed call replies 0 and the text, since clients cannot
-- handle an error within a list. A call without code and clock replies -1. If the
-- checks refuse the request, it replies as every script does.
local function failure(text)
  if type(text) == 'table' then text = text.err end
  return string.match(text, '^%u+ ') and text or 'ERR ' .. text
end

-- In an embedded node, locals of this chunk and of its functions diverge after a failed
-- call: only functions know the current call.
local function begin(keys, args, count) keys_before, args_before, nargs = keys, args, count end

local replies, calls, n, keys, last = {0, nowtext, ''}, 0, 3, 0, 4
while last < #ARGV do
  local nkeys, count = ARGV[last + 1], ARGV[last + 2] + 0
  begin(keys, last + 2, count)
  local ok, reply = pcall(rule)
  if not ok or reply.err then
    replies[n + 1], replies[n + 2] = 0, failure(reply)
    n = n + 2
  elseif #reply < 2 then
    replies[n + 1] = -1
    n = n + 1
  else
    replies[n + 1], replies[n + 2] = #reply - 1, reply[1]
    for i = 3, #reply do replies[n + i] = reply[i] end
    n = n + #reply
  end
  calls, keys, last = calls + 1, keys + nkeys, last + 2 + count
end
replies[1], replies[3] = calls, num(floor)
return replies
