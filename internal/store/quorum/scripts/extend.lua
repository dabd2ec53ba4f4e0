-- N4 EXTEND: renews the lock, or sets that of the open claim again, also while the node
-- abstains. A lock set only by LOCK does not count: an old request may have set it
-- after another try has run. Arguments and variables: see begin.lua; it has no others.
-- Replies OK | DEAD reason | LOST owner left holder tick token
serve()
if dead then return {'DEAD', nowtext, dead == '1' and '' or dead} end
if lock ~= v and rival then
  code, by = 'LOST', rival
elseif lock ~= v and open ~= v then
  code = 'LOST'
else
  -- PEXPIRE needs no memory, so a node that is full can extend.
  if lock == v then redis.call('PEXPIRE', lock_key, ttl) else redis.call('SET', lock_key, v, 'PX', ttl) end
  if overlaps and now + ttl > tonumber(marker or 0) then redis.call('SET', marker_key, num(now + ttl), 'PX', ttl) end
  return {'OK', nowtext}
end
