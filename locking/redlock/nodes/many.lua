-- The end of a request with many calls of one rule. They run one after the other
-- as if each were alone, but for the clock and the checks that they share: a rule
-- that changes what those have found changes it in their variables too.
-- KEYS[2…]   the keys of the first call, those of the second, and so on
-- ARGV[10…]  of each call: how many keys it has, how many arguments, these
-- Replies a list of what each call would have been replied, but a list of the
-- text alone where it failed: clients stumble over an error within a list. Where
-- the checks refuse the request it replies as every script does.
local function failure(text)
  if type(text) == 'table' then text = text.err end
  return {string.match(text, '^%u+ ') and text or 'ERR ' .. text}
end

local replies, last = {}, 9
while last < #ARGV do
  local keys = tonumber(ARGV[last + 1])
  own.args, own.args_before = tonumber(ARGV[last + 2]), last + 2
  local ok, reply = pcall(run)
  if not ok or reply.err then reply = failure(reply) end
  replies[#replies + 1] = reply
  own.keys_before, last = own.keys_before + keys, own.args_before + own.args
end
return replies
