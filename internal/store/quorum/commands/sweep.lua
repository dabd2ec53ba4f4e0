-- For reserve.lua: drops old registers, and returns the parsed values of all others by
-- field. Old are expired requests, the last instant of a series, and the IDs of pauses.
local most = 200 -- how many resumes and ended pauses, and how many IDs of pauses and resumes, are kept

local function trim(list)
  if #list <= most then return end
  table.sort(list, function(x, y) return x.at > y.at end)
  for i = most + 1, #list do redis.call('HDEL', commands, list[i].field) end
end

local function sweep()
  local all, live, ids, resumes = redis.call('HGETALL', commands), {}, {}, {}
  for i = 1, #all, 2 do
    local field, kind, til, kept = all[i], string.sub(all[i], 1, 2), 0
    if string.sub(kind, 2) == ':' then
      kept = parse(all[i + 1])
      kept.field, til = field, kept.til
    end
    if kind == 'la' then til = tonumber(all[i + 1]) or 0 end
    live[field] = kept
    if til > 0 and til + keep < now then
      redis.call('HDEL', commands, field)
      live[field] = nil
    elseif kind == 'k:' then
      ids[#ids + 1] = kept
    elseif kind == 'p:' and not lasts(kept) then
      resumes[#resumes + 1] = kept
    end
  end
  trim(ids)
  trim(resumes)
  return live
end
