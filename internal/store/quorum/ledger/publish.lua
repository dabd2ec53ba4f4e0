-- Stores published jobs. Of each account it keeps the earliest first and the latest of
-- the other times, but no time ahead of the node's clock.
-- KEYS[2] hash of names to "<ms of the node's clock>|<account>|<JSON>"
-- arg(1), arg(2) … name, "<first>,<until>,<stopped>,<removed>|<JSON>" with times in ms, 0 for
-- none; then the next name, and so on
-- Replies OK
serve()
local function account(text)
  local list = {string.match(text or '', '^(%d+),(%d+),(%d+),(%d+)(|.*)$')}
  local rest = table.remove(list, 5)
  for i, ms in ipairs(list) do list[i] = tonumber(ms) end
  return rest and list, rest
end

for i = 1, nargs, 2 do
  local name, text = arg(i), arg(i + 1)
  local said, rest = account(text)
  if said then
    local had = account(string.match(redis.call('HGET', KEYS[2], name) or '', '^%d+|(.*)$'))
    if had and had[1] > 0 and (said[1] == 0 or had[1] < said[1]) then said[1] = had[1] end
    for n = 1, 4 do
      if n > 1 then said[n] = math.max(math.min(said[n], now), had and had[n] or 0) end
      said[n] = num(said[n])
    end
    text = table.concat(said, ',') .. rest
  end
  redis.call('HSET', KEYS[2], name, nowtext .. '|' .. text)
end
return {'OK', nowtext}
