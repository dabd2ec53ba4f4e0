-- The end of a request with many calls of one rule. They run one after the other
-- as if each were alone, but for the clock and the checks that they share: a rule
-- that changes what those have found changes it in their variables too.
-- KEYS[2…]   the keys of the first call, those of the second, and so on
-- ARGV[10…]  of each call: how many keys it has, how many arguments, these
-- Replies how many calls there were, clock and floor, then of each how many words
-- its reply has, clock aside, and these; of one that failed 0 and the text, since
-- clients stumble over an error within a list; of one that replied no code and
-- clock -1. It is one list, as lists of lists cost the server more. Where the
-- checks refuse the request it replies as every script does.
local function failure(text)
  if type(text) == 'table' then text = text.err end
  return string.match(text, '^%u+ ') and text or 'ERR ' .. text
end

local replies, calls, n, last = {0, nowtext, ''}, 0, 3, 9
while last < #ARGV do
  local keys = tonumber(ARGV[last + 1])
  own.args, own.args_before = tonumber(ARGV[last + 2]), last + 2
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
  calls = calls + 1
  own.keys_before, last = own.keys_before + keys, own.args_before + own.args
end
replies[1], replies[3] = calls, num(floor)
return replies
