-- Takes back what was announced.
-- KEYS[2] hash of replicas or of jobs, see announce.lua
-- arg(1)  id or name
-- Replies OK
redis.call('HDEL', KEYS[2], arg(1))
return {'OK', nowtext}
