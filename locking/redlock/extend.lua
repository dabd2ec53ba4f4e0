-- N4 EXTEND: renews the lock, or sets it again where it ran out and nobody
-- else has claimed anything since.
-- KEYS[2..5] lock, claim, tombstone, runs
-- arg(1..4)  v, stream, tick, ttl
-- arg(5)     token
-- Replies OK | DEAD, with the reason if an operator released the lock |
-- LOST owner left holder tick token
local gone = redis.call('GET', dead)
if gone == '1' then return reply('DEAD') end
if gone then return reply('DEAD', gone) end

-- Superseded, even if a late ACQUIRE has brought the lock back. The stored
-- fence counts: that of a restart would end leases that last.
if accepted() > tonumber(arg(5)) then
  return with_claim('LOST', redis.call('HGET', claim, 'stream') or stream)
end

local owner = redis.call('GET', lock)
if owner == v then
  redis.call('PEXPIRE', lock, ttl)
  return reply('OK')
end
local held = get('owner') == v and get('token') == arg(5)
  and get('done') ~= '1' and get('void') ~= '1'
if not owner and held and (tick or now) > floor then
  redis.call('SET', lock, v, 'PX', ttl)
  return reply('OK')
end
if owner then return with_lock('LOST') end
return with_claim('LOST', stream)
