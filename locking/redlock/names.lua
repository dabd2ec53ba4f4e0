-- NAMES: a page of the names that locks, shares or claims are kept for, some of
-- them twice.
-- arg(1)  cursor: 0, then what the page before answered; 0 ends
-- arg(2)  what the keys of jobs begin with
-- arg(3)  how many keys of the server make a page, about
-- Replies OK cursor name…
local page = redis.call('SCAN', arg(1), 'MATCH', arg(2) .. '*', 'COUNT', arg(3))
local reply = {'OK', nowtext, page[1]}
for _, key in ipairs(page[2]) do
  local rest = string.sub(key, #arg(2) + 1)
  local name = string.match(rest, '^(.+):lock$') or string.match(rest, '^(.+):claim$')
    or string.match(rest, '^(.+):shares$')
  if name then reply[#reply + 1] = name end
end
return reply
