-- Reads what a set of jobs consists of.
-- KEYS[2] what was written down of it
-- Replies OK and that, or NONE
local set = redis.call('GET', KEYS[2])
if not set then return {'NONE', nowtext} end
return {'OK', nowtext, set}
