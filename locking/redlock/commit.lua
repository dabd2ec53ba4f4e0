-- N3 COMMIT: accepts the token for the tick. Asking again is harmless.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5)     token
-- arg(6)     mode: 0 at most once, 1 at least once
-- arg(7)     attempt: counts the claims of the tick
-- arg(8)     holder, for humans
-- arg(9)     records kept per job
-- arg(10)    started record without its kind, '' for none
-- arg(11..)  those of tokens that this attempt has given up
-- Replies OK fence attempts | STALE fence attempts | DEAD | ABSTAIN floor |
-- FUTURE | LOST, LATER, DONE, CLAIMED owner left holder tick token
local none = no_say()
if none then return none end

local token, mode, attempt = tonumber(arg(5)), arg(6), tonumber(arg(7))
-- Not a second more: the fence of this node's next life may begin right above.
if token > (now + gracems / 2) / 1000 * 2^20 or token >= 2^53 then
  return reply('FUTURE')
end

local mine = get('owner') == v
if mine and get('token') == arg(5) and get('tick') == arg(3) and get('void') ~= '1' then
  if not locked_out() then redis.call('SET', lock, v, 'PX', ttl) end
  return reply('OK', num(fence()), attempts())
end

if locked_out() then return with_lock('LOST') end
if tick then
  if overtaken() then return with_claim('LATER', stream) end
  if same_tick() then
    if get('done') == '1' then return with_claim('DONE', stream) end
    if not mine and claimed(mode) then return with_claim('CLAIMED', stream) end
  end
end
if token <= fence() then return reply('STALE', num(fence()), attempts()) end
-- The number of a void claim stays used.
if same_tick() and not mine and attempt <= tonumber(get('attempt')) then
  return reply('STALE', num(fence()), attempts())
end

serve()
-- The record of a start without a finish stays: that claim was left unfinished.
redis.call('HSET', claim, 'fence', arg(5), 'stream', stream,
  stream .. '.tick', arg(3), stream .. '.token', arg(5), stream .. '.owner', v,
  stream .. '.done', '0', stream .. '.void', '0', stream .. '.mode', mode,
  stream .. '.attempt', arg(7), stream .. '.holder', arg(8), stream .. '.at', nowtext)
redis.call('SET', lock, v, 'PX', ttl)
for i = 11, #ARGV - 9 do redis.call('ZREM', runs, 'S' .. arg(i)) end
if arg(10) ~= '' then
  redis.call('ZADD', runs, arg(3), 'S' .. arg(10))
  redis.call('ZREMRANGEBYRANK', runs, '0', '-' .. num(tonumber(arg(9)) + 1))
end
return reply('OK', arg(5), arg(7))
