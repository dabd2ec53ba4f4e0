-- Deletes what was published.
-- KEYS[2] hash of jobs, see publish.lua
-- arg(1), arg(2) … names
-- Replies OK
serve()
for i = 1, nargs do redis.call('HDEL', KEYS[2], arg(i)) end
return {'OK', nowtext}
