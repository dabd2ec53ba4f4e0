-- N5 FINISH: closes the tick as done, keeps the record, frees the lock. Asking
-- again is harmless, and answered alike.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5)     token
-- arg(6)     records kept per job
-- arg(7)     started record without its kind, '' for none
-- arg(8)     finished record without its kind, '' for none
-- Replies OK where the lock was still v's | RANOUT where it had gone, though
-- nothing was accepted since | LATE owner left holder tick token where the
-- claim was never accepted or has been superseded, in its own stream or by one
-- of another
local owner = redis.call('GET', lock)
-- First, so that a node that is out of memory can finish: once a script has
-- written, its other writes pass.
if owner == v then redis.call('DEL', lock) end
local held = get('owner') == v and get('token') == arg(5)
if held and get('done') ~= '1' then
  local ranout = owner == v and '0' or '1'
  if accepted() > tonumber(arg(5)) then ranout = '2' end
  redis.call('HSET', claim, stream .. '.done', '1', stream .. '.ranout', ranout)
end
local late = not held or get('ranout') == '2'
if arg(8) ~= '' then
  redis.call('ZREM', runs, 'S' .. arg(7))
  redis.call('ZADD', runs, arg(3), (late and 'L' or 'F') .. arg(8))
  redis.call('ZREMRANGEBYRANK', runs, '0', '-' .. num(tonumber(arg(6)) + 1))
end
if late then return with_claim('LATE', redis.call('HGET', claim, 'stream') or stream) end
return reply(get('ranout') == '1' and 'RANOUT' or 'OK')
