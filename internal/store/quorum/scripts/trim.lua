-- trim(set, last) drops the records of a set up to a rank. The highest tick dropped becomes the
-- score of the member 'E'. The member "E<that tick>,<success>,<failure>" at -1 has the ticks of the
-- newest dropped runs that recorded such an end; if that is unknown, the negative tick up to which
-- it may be. Releases that do not know the member neither list it, since it is before all ticks, nor
-- update it: then its first tick is not that of 'E'.
local ends = {succeeded = 1, failed = 2, timed_out = 2, lease_lost = 2}
local function trim(set, last)
  local goes = redis.call('ZRANGE', set, '0', last, 'WITHSCORES')
  local highest = (goes[#goes] or '-1') + 0 -- an embedded server may say 1e+8, which its tonumber refuses
  if highest < 0 then return end
  local before = (redis.call('ZSCORE', set, 'E') or '0') + 0
  local seen, success, failure = string.match(goes[1], '^E(%d+),(%-?%d+),(%-?%d+)$')
  local known = {0 - before, 0 - before} -- not -0
  if tonumber(seen or '') == before then known = {tonumber(success), tonumber(failure)} end
  for i = 1, #goes, 2 do
    local tick, outcome = goes[i + 1] + 0, string.match(goes[i], '"outcome":"([%l_]+)"')
    for kind = 1, 2 do
      if tick > math.abs(known[kind]) then
        if ends[outcome or ''] == kind then
          known[kind] = tick
        elseif not outcome and string.find(goes[i], '^[FRL]') then -- it cannot be read
          known[kind] = -tick
        end
      end
    end
  end
  redis.call('ZREMRANGEBYRANK', set, '0', last)
  redis.call('ZADD', set, 'GT', num(highest), 'E')
  if known[1] > 0 or known[2] > 0 then
    redis.call('ZADD', set, '-1', 'E' .. num(math.max(before, highest)) .. ',' .. num(known[1]) .. ',' .. num(known[2]))
  end
end
