-- Deletes what was announced or published.
-- KEYS[2] hash of replicas or of jobs, see announce.lua and publish.lua
-- arg(1), arg(2) … ids or names
-- Replies OK
serve()
for i = 1, nargs do redis.call('HDEL', KEYS[2], arg(i)) end
return {'OK', nowtext}
