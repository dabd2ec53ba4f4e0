-- Reserves an instant of a line for an act, if it is later than all that are taken or
-- reserved there, and the ID of the act, unless another act has it. Two acts cannot
-- reserve the same at a quorum.
-- KEYS as in common.lua
-- arg(1)  ID of the act
-- arg(2)  register under which it is reserved: a:ID or k:ID
-- arg(3)  line
-- arg(4)  the instant, ms
-- arg(5)  the last instant that the act takes up
-- arg(6)  owner of the reservation: random
-- arg(7)  how long, ms
-- arg(8)  fingerprint of the act
-- arg(9)  limit of open requests, or of pauses; '' for none
-- Replies OK 1-if-the-line-has-a-pause-or-resume | LAST instant |
-- HAVE value if the act is known already | OTHER if another act has its ID | FULL
local field, line, at, til = arg(2), arg(3), tonumber(arg(4)), now + tonumber(arg(7))
local standing = 'p:' .. line
local live = sweep()
drop(field, arg(6))
for _, name in ipairs({'a:' .. arg(1), 'k:' .. arg(1)}) do
  local kept = get(name)
  if kept and kept.fp ~= arg(8) then return {'OTHER', nowtext} end
  if kept and kept.state ~= 'R' then return {'HAVE', nowtext, redis.call('HGET', acts, name)} end
end
if arg(9) ~= '' then
  local n, pause = 0, string.sub(field, 1, 2) == 'k:'
  for name, other in pairs(live) do -- what is reserved counts, too: it is an act soon
    if other.state == 'R' and other.til > now and name ~= field and pause == (string.sub(name, 1, 2) == 'k:') then n = n + 1 end
    if not pause and other.state == 'O' and other.til > now then n = n + 1 end
    if pause and other.state == 'P' and other.til == 0 and name ~= standing then n = n + 1 end
  end
  if n >= tonumber(arg(9)) then return {'FULL', nowtext} end
end
if at <= last(line) then return {'LAST', nowtext, num(last(line))} end

redis.call('HSET', acts, 'last:' .. line, arg(5))
redis.call('HSET', acts, field, table.concat({'R', arg(4), num(til), arg(5), line, arg(8), arg(6)}, '|'))
if string.sub(field, 1, 2) == 'a:' then changed() end
return {'OK', nowtext, get(standing) and '1' or '0'}
