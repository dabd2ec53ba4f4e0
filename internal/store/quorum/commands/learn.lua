-- Accepts what other nodes know, or changes of commands known here. A request keeps its
-- instant, and a closed one stays closed. Of pauses the later one stays.
-- KEYS as in common.lua
-- arg(1)  limit of the audit log
-- arg(2), arg(3) … register, value, and so on
-- Replies OK
local function wanted(field, new)
  local kept = get(field)
  if new.state == 'P' then
    return not kept or new.at > kept.at or new.at == kept.at and new.rest > kept.rest
  end
  if new.til + keep < now then return false end
  if new.state == 'C' then return not kept or kept.state ~= 'C' end
  return not kept or kept.state == 'R' and kept.til <= now
end

local news = false
for i = 2, nargs, 2 do
  if wanted(arg(i), parsed(arg(i + 1))) then
    put(arg(i), arg(i + 1), arg(1))
    news = true
  end
end
if news then changed() end
return {'OK', nowtext}
