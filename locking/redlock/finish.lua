-- N5 FINISH: closes the tick as done, keeps the record, frees the lock. Asking
-- again is harmless, and answered alike. With handover the tick is not done: a rerun
-- may claim it at once, and a tombstone keeps late requests of v from its lock.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     token
-- arg(7)     records kept per job
-- arg(8)     started record without its kind, '' for none
-- arg(9)     finished record without its kind, '' for none
-- arg(10)    1: handover; may be left out
-- Replies OK where the lock was still v's | RANOUT where it had gone, though
-- nothing was accepted since | LATE owner left holder tick token where the
-- claim was never accepted or has been superseded, in its own stream or by one
-- of another. A share that lasts is not superseded.
-- The lock goes first, so that a node that is out of memory can finish: once a
-- script has written, its other writes pass.
begin()
local token, keep, started, finished = args(6, 9)
local handover = arg(10) == '1'
local had = redis.call('GET', lock) == v
if had then redis.call('DEL', lock) end
if beside then
  had = has_share(token)
  if had then
    -- It stays for a while, to answer alike when asked again.
    redis.call('HDEL', shares, place .. 'done')
    take()
    redis.call('HSET', shares, place .. 'done', '1')
  else
    free()
  end
end

local of = stream .. '.'
local fence, owner, claimed, done, ranout = unpack(redis.call('HMGET', claim,
  'fence', of .. 'owner', of .. 'token', of .. 'done', of .. 'ranout'))
local held = owner == v and claimed == token
if held and done ~= '1' and done ~= '2' then
  ranout = had and '0' or '1'
  if tonumber(fence) > tonumber(token) and not (beside and had) then ranout = '2' end
  redis.call('HSET', claim, of .. 'done', handover and '2' or '1', of .. 'ranout', ranout)
end
if handover then redis.call('SET', dead, '1', 'PX', num(2 * tonumber(ttl))) end
local late = not (beside and had)
if held then late = ranout == '2' end
if finished ~= '' then
  -- In this order a set of one record is not given up and made again.
  redis.call('ZADD', runs, ticktext, (late and 'L' or 'F') .. finished)
  redis.call('ZREM', runs, 'S' .. started)
  trim(runs, num(-tonumber(keep) - 1))
end
if late then return with_claim('LATE', redis.call('HGET', claim, 'stream') or stream) end
return reply(held and ranout == '1' and 'RANOUT' or 'OK')
