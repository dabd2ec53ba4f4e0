-- Reserves an instant of a line for an act, if it comes after all that are taken
-- or reserved there. Two acts cannot reserve the same one at a quorum.
-- KEYS as in common.lua
-- arg(1)  register of the request, '' for a pause
-- arg(2)  line
-- arg(3)  the instant, ms
-- arg(4)  the last instant that the act takes up
-- arg(5)  who reserves it: random
-- arg(6)  how long, ms
-- arg(7)  how many requests may be open
-- Replies OK | LAST instant | HAVE value where the request is known already |
-- FULL
local field, line, at, til = arg(1), arg(2), tonumber(arg(3)), now + tonumber(arg(6))
sweep()
if field ~= '' then
  drop(field, arg(5))
  local kept = get(field)
  if kept and kept.state ~= 'R' then return {'HAVE', nowtext, redis.call('HGET', acts, field)} end
  local open, all = 0, redis.call('HGETALL', acts)
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 2) == 'a:' then
      local other = parse(all[i + 1])
      if other.state == 'O' and other.til > now then open = open + 1 end
    end
  end
  if open >= tonumber(arg(7)) then return {'FULL', nowtext} end
end
if at <= last(line) then return {'LAST', nowtext, num(last(line))} end

redis.call('HSET', acts, 'last:' .. line, arg(4))
if field ~= '' then
  redis.call('HSET', acts, field, table.concat({'R', arg(3), num(til), arg(4), line, arg(5)}, '|'))
  changed()
end
return {'OK', nowtext}
