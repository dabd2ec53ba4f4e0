-- N4 EXTEND: renews the lock, or sets it again where it ran out and nobody
-- else has claimed anything since. A holder of another kind may have had it
-- meanwhile: it leaves no fence. So the answer tells the two apart. A share that has the token is renewed whatever
-- was claimed since: later ticks run beside it.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     token
-- Replies RENEWED | SET | DEAD, with the reason if an operator released the lock |
-- LOST owner left holder tick token
begin()
local token = arg(6)
local gone = redis.call('GET', dead)
if gone == '1' then return reply('DEAD') end
if gone then return reply('DEAD', gone) end

if beside then
  local has, ended = has_share(token)
  if has and not ended then
    take()
    return reply('RENEWED')
  end
end

recall()
-- Superseded, even if a late ACQUIRE has brought the lock back. The stored
-- fence counts: that of a restart would end leases that last.
if accepted() > tonumber(token) then
  return with_claim('LOST', redis.call('HGET', claim, 'stream') or stream)
end

if not beside and redis.call('GET', lock) == v then
  redis.call('PEXPIRE', lock, ttl)
  return reply('RENEWED')
end
look_around()
if in_the_way() then return in_the_way_of('LOST') end
local held = stored_owner == v and stored_token == token
  and stored_done == '0' and stored_void ~= '1'
if held and (tick or now) > floor then
  take_claimed()
  return reply('SET')
end
return with_claim('LOST', stream)
