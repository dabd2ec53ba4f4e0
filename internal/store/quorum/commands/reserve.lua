-- Reserves an instant of a series for a command, if it is later than all that are taken or
-- reserved there, and the ID of the command, unless another command has it. Two commands cannot
-- reserve the same at a quorum.
-- KEYS as in common.lua
-- arg(1)  ID of the command
-- arg(2)  register under which it is reserved: a:ID or k:ID
-- arg(3)  series
-- arg(4)  the instant, ms
-- arg(5)  the last instant that the command takes up
-- arg(6)  owner of the reservation: random
-- arg(7)  how long, ms
-- arg(8)  fingerprint of the command
-- arg(9)  limit of open requests, or of pauses; '' for none
-- Replies OK 1-if-the-series-has-a-pause-or-resume | LAST instant |
-- HAVE value if the command is known already | OTHER if another command has its ID | FULL
local field, series, at, til = arg(2), arg(3), tonumber(arg(4)), now + tonumber(arg(7))
local standing = 'p:' .. series
local live = sweep()
drop(field, arg(6))
for _, name in ipairs({'a:' .. arg(1), 'k:' .. arg(1)}) do
  local kept = get(name)
  if kept and kept.fp ~= arg(8) then return {'OTHER', nowtext} end
  if kept and kept.state ~= 'R' then return {'HAVE', nowtext, redis.call('HGET', commands, name)} end
end
if arg(9) ~= '' then
  local n, pause = 0, string.sub(field, 1, 2) == 'k:'
  for name, other in pairs(live) do -- what is reserved counts, too: it is a command soon
    if other.state == 'R' and other.til > now and name ~= field and pause == (string.sub(name, 1, 2) == 'k:') then n = n + 1 end
    if not pause and other.state == 'O' and other.til > now then n = n + 1 end
    if pause and lasts(other) and name ~= standing then n = n + 1 end
  end
  if n >= tonumber(arg(9)) then return {'FULL', nowtext} end
end
if at <= last(series) then return {'LAST', nowtext, num(last(series))} end

redis.call('HSET', commands, 'last:' .. series, arg(5))
redis.call('HSET', commands, field, table.concat({'R', arg(4), num(til), arg(5), series, arg(8), arg(6)}, '|'))
if string.sub(field, 1, 2) == 'a:' then changed() end
return {'OK', nowtext, get(standing) and '1' or '0'}
