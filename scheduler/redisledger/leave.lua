-- Forgets a replica.
-- KEYS[2] hash of replicas, see announce.lua
-- arg(1)  id
-- Replies OK
redis.call('HDEL', KEYS[2], arg(1))
return {'OK', nowtext}
