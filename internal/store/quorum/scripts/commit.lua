-- N3 COMMIT: accepts the token for the tick. It may be repeated. After begin.lua:
-- arg(6)   mode: 0 at most once, 1 at least once
-- arg(7)   token
-- arg(8)   attempt number
-- arg(9)   1: a holder joins, and the answer is no vote
-- arg(10)  packed claim
-- arg(11)  records kept per job
-- Replies OK, STALE fence attempt | DEAD reason | ABSTAIN floor | FUTURE |
-- LATER, DONE, CLAIMED, BUSY, UNENDED owner left holder tick token
-- reach  the latest tick, and the time of the largest token, that this clock allows
-- new  v has not the open claim; same: the stream's claim is of this tick
-- number  how many attempts the claim of the tick has had
-- kept  the largest token accepted; largest: that, or what a forgotten one may have been
-- here  stream and tick, as the fence stores them in place
local mode, token, attempt, join, packed, keep = unpack(ARGV, args_before + 6, args_before + 11)
join = join == '1'
serve()
if dead then return {'DEAD', nowtext, dead == '1' and '' or dead} end
if (tick or now) <= floor and not join then return {'ABSTAIN', nowtext, num(floor)} end
-- Refuse larger tokens: the fence of the node's next incarnation may begin there.
local reach = now + math.floor(gracems / 2)
local t, seconds = tonumber(token), math.floor(reach / 1000)
if now <= floor and not join or tick and tick > reach
  or t >= 2^53 or t - seconds * 2^20 > reach % 1000 * 2^20 / 1000 then
  return {'FUTURE', nowtext}
end

local new = open ~= v
local same = tick and tonumber(c_tick) == tick
local number = same and c_attempt or '0'
local kept = tonumber(accepted) or gc_fence
local largest = math.max(kept, math.ceil(floor / 1000) * 2^20)
local here = stream .. ':' .. ticktext
if new and tick and not same and (owner and tonumber(c_tick) or gc_tick) >= tick then
  code = 'LATER'
elseif new and same and string.find('ORL', state, 1, true) then
  code = 'DONE'
elseif new and same and (c_mode == '0' and state ~= 'V' or c_mode == '1' and mode == '0') then
  code = 'CLAIMED'
elseif rival then
  code, by = 'BUSY', rival
elseif new and not join and open ~= '-' and not mine and not (overlaps and place ~= '-' and place ~= here) then
  code, by = 'UNENDED', open
elseif new and (t <= (join and kept or largest) or tonumber(attempt) <= tonumber(number)) then
  return {'STALE', nowtext, num(largest), number}
else
  if new then
    if streams ~= stream and not string.find(',' .. streams .. ',', ',' .. stream .. ',', 1, true) then
      local list = {stream}
      for s in string.gmatch(streams, '[^,]+') do list[#list + 1] = s end
      table.sort(list)
      streams = table.concat(list, ',')
    end
    redis.call('MSET', claim_key, '-' .. packed, fence_key, token .. ' ' .. v .. ' ' .. (overlaps and here or '-') .. ' ' .. streams)
    if state == '-' and tick then -- the earlier run has not ended
      redis.call('ZADD', runs_key, c_tick, 'S' .. string.sub(claim, 2))
      trim(runs_key, num(-tonumber(keep) - 1))
    end
    largest, number = math.max(t, largest), tick and attempt or '0'
  end
  redis.call('SET', lock_key, v, 'PX', ttl)
  if overlaps and now + ttl > tonumber(marker or 0) then redis.call('SET', marker_key, num(now + ttl), 'PX', ttl) end
  return {'OK', nowtext, num(largest), number}
end
