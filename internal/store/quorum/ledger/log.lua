-- Reads the log of a run.
-- KEYS[2] logs of the job, see store.lua
-- arg(1)  name
-- Replies OK log, or NONE
local log = redis.call('HGET', KEYS[2], arg(1))
if not log then return {'NONE', nowtext} end
return {'OK', nowtext, log}
