-- Reads one command.
-- KEYS as in common.lua
-- arg(1)  its register
-- Replies OK value, which is '' where it is not known
return {'OK', nowtext, redis.call('HGET', commands, arg(1)) or ''}
