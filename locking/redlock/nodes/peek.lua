-- PEEK: what the node holds, also for a client of another list. KEYS and ARGV
-- as in head.lua, prelude.lua first.
local more = redis.call('HMGET', KEYS[1], 'sealed_names', 'sealed_at')
return {'OK', nowtext, num(floor), node[2], node[3], node[4], node[5], id,
  num(since), node[8], node[9] or '', node[10], node[11] or '',
  more[1] or '', more[2] or '0'}
