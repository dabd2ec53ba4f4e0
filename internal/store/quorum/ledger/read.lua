-- Reads records of one or more jobs, newest ticks first.
-- KEYS[2] runs of the first job: set of records by tick, and what is known of dropped ones, see trim.lua
-- KEYS[3] its notes, of ticks that did not run: a set like that
-- KEYS[4] its lock; a tick's lock has the suffix ":<stream>:<tick>"
-- KEYS[5] its fence, which names the streams: a claim that has not ended counts as a
-- record; then the keys of the next job, and so on
-- arg(1)  latest tick of the first job in ms, with '(' exclusive; or +inf
-- arg(2)  the earliest tick
-- arg(3)  limit of runs, and of notes
-- arg(4)  1: leave out records of a plain end, which count toward the limit; then the arguments
-- of the next job, and so on
-- Replies OK, then of each job: the tick of the newest record that was not read, or ''; the
-- highest tick with a dropped record, or ''; the ticks of the newest dropped success and failure,
-- negative if that is unknown, 0 if no run was dropped; the number of locks, the value of each or '',
-- none without records; the number of records, and each after its tick and a space. Claims come first, and do not count
-- toward the limit.
local reply, n = {'OK', nowtext}, 2
local function say(value)
  n = n + 1
  reply[n] = value
end
local function say_all(list)
  say(num(#list))
  for _, value in ipairs(list) do say(value or '') end
end

-- A text in a note cannot look like a field: its quotes are escaped.
local function has(record, field) return string.find(record, field, 1, true) end
local function plain(record)
  return string.sub(record, 1, 1) ~= 'S' and not has(record, '"stale":') and
    (has(record, '"outcome":"succeeded"') or has(record, '"outcome":"skipped"') or has(record, '"outcome":"cancelled"'))
end

for job = 0, nargs / 4 - 1 do
  local latest, earliest, most = arg(4 * job + 1), tonumber(arg(4 * job + 2)), tonumber(arg(4 * job + 3))
  local search = arg(4 * job + 4) == '1'
  local lock, fence = key(4 * job + 4), key(4 * job + 5)
  local rest, gone, records, locks = -1, {}, {}, {lock}
  local function take(record, score)
    records[#records + 1] = num(score) .. ' ' .. record
    local tick, stream = string.match(record, '^S(%d+) %d+ %S+ %d %d+ 1 ([^ |]+)')
    if tick then locks[#locks + 1] = lock .. ':' .. stream .. ':' .. tick end
  end
  local below = string.match(latest, '^%((.*)$')
  local limit = latest == '+inf' and math.huge or below and tonumber(below) or tonumber(latest) + 1
  local streams = string.match(redis.call('GET', fence) or '', '^%S+ %S+ %S+ (.*)$')
  for stream in string.gmatch(streams or '', '[^,]+') do
    local claim = redis.call('GET', string.sub(fence, 1, -6) .. 'claim.' .. stream) or ''
    local tick = tonumber(string.match(claim, '^%-(%d+) ') or '-1')
    if tick >= earliest and tick < limit then take('S' .. string.sub(claim, 2), tick) end
  end
  for set = 4 * job + 1, 4 * job + 2 do
    local found, count = redis.call('ZRANGE', key(set + 1), latest, '-inf', 'BYSCORE', 'REV', 'LIMIT', '0', num(most + 2), 'WITHSCORES'), 0
    for i = 1, #found, 2 do
      local record, tick = found[i], tonumber(found[i + 1])
      if record ~= 'E' and (count == most or tick < earliest) then
        rest = math.max(rest, tick)
        break
      elseif record ~= 'E' then
        count = count + 1
        if not (search and plain(record)) then take(record, tick) end
      end
    end
    gone[#gone + 1] = tonumber(redis.call('ZSCORE', key(set + 1), 'E') or '-1')
  end
  say(rest < 0 and '' or num(rest))
  local highest = math.max(gone[1], gone[2])
  say(highest < 0 and '' or num(highest))
  local seen, success, failure
  if gone[1] >= 0 then
    seen, success, failure = string.match(redis.call('ZRANGE', key(4 * job + 2), '0', '0')[1], '^E(%d+),(%-?%d+),(%-?%d+)$')
  end
  if tonumber(seen or '-1') ~= gone[1] then success, failure = '-1', '-1' end -- of an older release
  say(success or '0')
  say(failure or '0')
  say_all(#records > 0 and redis.call('MGET', unpack(locks)) or {})
  say_all(records)
end
return reply
