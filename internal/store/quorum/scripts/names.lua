-- NAMES: a page of the names with locks or claims; some appear twice.
-- arg(1)  cursor: 0, then the cursor of the last reply; 0 ends
-- arg(2)  prefix of the keys of jobs
-- arg(3)  approximate number of keys per page
-- Replies OK cursor name…
local page = redis.call('SCAN', arg(1), 'MATCH', arg(2) .. '*', 'COUNT', arg(3))
local reply = {'OK', nowtext, page[1]}
for _, key in ipairs(page[2]) do
  local name, what = string.match(string.sub(key, #arg(2) + 1), '^(.+):(%l+)$')
  if what == 'lock' or what == 'beside' or what == 'fence' then reply[#reply + 1] = name end
end
return reply
