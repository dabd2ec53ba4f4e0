-- TRY: does what claims do, on a key of its own that it deletes: a node that answers may
-- take no writes. KEYS and ARGV as in header.lua, then
-- KEYS[2]  that key
-- Replies OK.
local scratch = KEYS[2]
redis.call('MSET', scratch, nowtext)
redis.call('SET', scratch, nowtext, 'PX', 1000)
redis.call('PEXPIRE', scratch, 1000)
redis.call('PTTL', scratch)
redis.call('MGET', scratch)
redis.call('GET', scratch)
redis.call('DEL', scratch)
redis.call('ZADD', scratch, 1, nowtext)
redis.call('ZSCORE', scratch, nowtext)
redis.call('ZRANGE', scratch, 0, 0)
redis.call('ZREM', scratch, nowtext)
redis.call('HSET', scratch, 'at', nowtext)
redis.call('DEL', scratch)
return {'OK', nowtext}
