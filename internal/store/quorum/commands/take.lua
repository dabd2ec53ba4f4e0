-- Takes the instant that was reserved for a request: the request is then open. A node
-- without the reservation also takes it until a later one has come. A node whose
-- reservation expired never does.
-- KEYS as in common.lua
-- arg(1)  register of the request
-- arg(2)  its value, state O
-- arg(3)  owner of the reservation
-- arg(4)  limit of the audit log
-- Replies OK | LATE | HAVE value if the request is known already
local field, new = arg(1), parsed(arg(2))
local kept = get(field)
if kept and kept.state ~= 'R' then return {'HAVE', nowtext, redis.call('HGET', commands, field)} end
if kept and (kept.rest ~= arg(3) or now >= kept.til) then return {'LATE', nowtext} end
if not (kept and kept.at == new.at) and new.at <= last(new.series) then
  drop(field, arg(3))
  return {'LATE', nowtext}
end
put(field, arg(2), arg(4))
changed()
return {'OK', nowtext}
