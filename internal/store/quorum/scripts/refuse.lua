
-- Replies with the claim that blocks the try: code owner left holder tick token. If the
-- owner has a lock but no claim yet, the last three are empty.
local job, left = string.sub(fence_key, 1, -6), 0
if by then
  by = string.gsub(by, '^[?-]', '')
  if rival then left = redis.call('PTTL', rival_key) end
  claim = nil
  for s in string.gmatch(streams, '[^,]+') do
    local c = redis.call('GET', job .. 'claim.' .. s)
    if c and string.match(c, '^%S+ %d+ (%S+)') == by then claim = c end
  end
end
local at, token, whose, overlapped, holder = string.match(claim or '', '^.(%S+) (%d+) (%S+) %d %d+ (%d) %S+ ([^|]*)')
if whose and not by then
  local its = job .. (overlapped == '1' and 'lock:' .. stream .. ':' .. at or 'lock')
  local value = redis.call('GET', its)
  if value == whose or value == '?' .. whose then left = redis.call('PTTL', its) end
end
return {code, nowtext, whose or by or '', num(math.max(left, 0)), holder or '', at ~= '-' and at or '', token or ''}
