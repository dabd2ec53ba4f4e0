-- The shares of a job's lock, of attempts that run beside those of other ticks.
-- A hash per job; each share has the fields owner, until (ms), and once its
-- claim was accepted token, attempt, mode, holder, at, done, behind the place
-- "<stream>:<tick>.".

-- The shares at key that still count, by place, and the places in order: a share
-- does until it runs out or its run has ended.
local function shares_at(key)
  local all, found, places = redis.call('HGETALL', key), {}, {}
  if #all == 0 then return found, places end
  for i = 1, #all, 2 do
    local place, field = string.match(all[i], '^(.*%.)([a-z]+)$')
    found[place] = found[place] or {}
    found[place][field] = all[i + 1]
  end
  for place, s in pairs(found) do
    if tonumber(s['until']) >= now and s.done ~= '1' then places[#places + 1] = place end
  end
  table.sort(places)
  return found, places
end

local function drop_share_at(key, place)
  redis.call('HDEL', key, place .. 'owner', place .. 'until', place .. 'token',
    place .. 'attempt', place .. 'mode', place .. 'holder', place .. 'at', place .. 'done')
end
