-- PEEK: the node's record, also for a client of another list. KEYS and ARGV as in
-- header.lua, prelude.lua first.
local more = redis.call('HMGET', KEYS[1], 'embedded', 'names', 'sealed_names', 'sealed_at')
if ours then name, members, epoch = string.match(ARGV[1], '^(%S+) (%S+) (%S+)') end
return {'OK', nowtext, num(floor), name, members, epoch, grace, run_id, num(since),
  more[1], node[5] or '', more[2], node[4] or '', more[3] or '', more[4] or '0'}
