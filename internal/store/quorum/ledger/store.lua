-- STORE: stores logs of runs, and drops a job's excess or old records and logs. No
-- claim depends on any of them.
-- KEYS[2] runs of the job: sorted set of records by tick
-- KEYS[3] its notes, of ticks that did not run: a set like that
-- KEYS[4] logs of the job: hash of names to logs, and of "index" to a line
-- "<name> <bytes>" for each, the oldest tick first; names are
-- "<tick in ms>.<token>"
-- arg(1)  limit of runs, of notes, and of logs
-- arg(2)  maximum age of a tick in ms, 0: any
-- arg(3)  limit of bytes of logs
-- arg(4) arg(5) … name and log, and so on
-- Replies OK
serve()
local runs, notes, logs = unpack(KEYS, 2, 4)
local most, age, room = tonumber(arg(1)), tonumber(arg(2)), tonumber(arg(3))
local earliest = age > 0 and now - age or 0

-- The newest run stays, or the newest note if there is no run: it says since when the
-- job is known.
local function newest(set)
  return tonumber(redis.call('ZRANGE', set, '-1', '-1', 'WITHSCORES')[2] or '-1')
end
local last_run, last_note = newest(runs), newest(notes)
local stays = math.max(last_run, last_note) < earliest and (last_run < 0 and notes or runs)
for _, set in ipairs({runs, notes}) do
  trim(set, num(-most - 1))
  if age > 0 then
    local old = #redis.call('ZRANGE', set, '-inf', '(' .. num(earliest), 'BYSCORE')
    if set == stays then old = old - 1 end
    if old > 0 then trim(set, num(old - 1)) end
  end
end

local list, bytes = {}, {}
for name, size in string.gmatch(redis.call('HGET', logs, 'index') or '', '(%S+) (%d+)\n') do
  list[#list + 1] = name
  bytes[name] = tonumber(size)
end
for i = 4, nargs, 2 do
  local name, log = arg(i), arg(i + 1)
  if not bytes[name] then list[#list + 1] = name end
  bytes[name] = #log
  redis.call('HSET', logs, name, log)
end

local function tick(name) return tonumber(string.match(name, '^(%d+)%.')) or 0 end
table.sort(list, function(a, b) -- the newest first
  if tick(a) ~= tick(b) then return tick(a) > tick(b) end
  return a > b
end)
local total, index, full = 0, '', false
for i, name in ipairs(list) do
  total = total + bytes[name]
  full = full or i > most or total > room or tick(name) < earliest
  if full then redis.call('HDEL', logs, name) else index = name .. ' ' .. num(bytes[name]) .. '\n' .. index end
end
if index == '' then redis.call('DEL', logs) else redis.call('HSET', logs, 'index', index) end
return {'OK', nowtext}
