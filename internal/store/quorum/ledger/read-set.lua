-- Reads the contents of a set of jobs.
-- KEYS[2] the contents
-- Replies OK and the contents, or NONE
local set = redis.call('GET', KEYS[2])
if not set then return {'NONE', nowtext} end
return {'OK', nowtext, set}
