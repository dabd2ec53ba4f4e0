-- N2 LOCK: the first of two rounds. Also N10 LOOK: v is '' and nothing changes. After
-- begin.lua:
-- arg(6)  mode: 0 at most once, 1 at least once
-- Replies OK fence attempt | DEAD reason | ABSTAIN floor | FUTURE |
-- LATER, DONE, CLAIMED, BUSY owner left holder tick token
-- same  the stream's claim is of this tick; largest: as in commit.lua
local mode = arg(6)
if v ~= '' then serve() end
if dead then return {'DEAD', nowtext, dead == '1' and '' or dead} end
if (tick or now) <= floor then return {'ABSTAIN', nowtext, num(floor)} end
if now <= floor or tick and tick > now + gracems / 2 then return {'FUTURE', nowtext} end

local same = tick and tonumber(c_tick) == tick
if tick and not same and (owner and tonumber(c_tick) or gc_tick) >= tick then
  code = 'LATER'
elseif same and string.find('ORL', state, 1, true) then
  code = 'DONE'
elseif same and (c_mode == '0' and state ~= 'V' or c_mode == '1' and mode == '0') then
  code = 'CLAIMED'
elseif rival then
  code, by = 'BUSY', rival
else
  if v ~= '' and not mine then
    redis.call('SET', lock_key, '?' .. v, 'PX', ttl)
    if overlaps and now + ttl > tonumber(marker or 0) then redis.call('SET', marker_key, num(now + ttl), 'PX', ttl) end
  end
  local largest = math.max(tonumber(accepted) or gc_fence, math.ceil(floor / 1000) * 2^20)
  return {'OK', nowtext, num(largest), same and c_attempt or '0'}
end
