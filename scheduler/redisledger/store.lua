-- STORE: keeps logs of runs, and drops what is kept of a job no longer. Whether
-- a tick may be claimed does not depend on any of it.
-- KEYS[2] runs of the job: sorted set of records by tick
-- KEYS[3] its notes, of ticks that did not run: a set like that
-- KEYS[4] logs of the job: hash of names to logs, and of "index" to a line
--         "<name> <bytes>" for each, the oldest tick first; names are
--         "<tick in ms>.<token>"
-- arg(1)  runs kept, notes, and logs
-- arg(2)  how old a tick may be in ms, 0: any age
-- arg(3)  bytes of logs kept
-- arg(4) arg(5) … name and log, and so on
-- Replies OK
local runs, notes, logs = unpack(KEYS, 2, 4)
local most, age, room = tonumber(arg(1)), tonumber(arg(2)), tonumber(arg(3))
local earliest = age > 0 and now - age or 0

-- Of the newest run something stays, or of the newest note where no run is: it says since
-- when the job is known.
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
for i = 4, #ARGV - 9, 2 do
  local name, log = arg(i), arg(i + 1)
  if not bytes[name] then list[#list + 1] = name end
  bytes[name] = #log
  redis.call('HSET', logs, name, log)
end
if #list == 0 then return {'OK', nowtext} end

local function tick(name) return tonumber(string.match(name, '^(%d+)%.')) or 0 end
table.sort(list, function(a, b)
  if tick(a) ~= tick(b) then return tick(a) < tick(b) end
  return a < b
end)
local first, total = #list + 1, 0
for i = #list, 1, -1 do
  total = total + bytes[list[i]]
  if #list - i + 1 > most or total > room or tick(list[i]) < earliest then break end
  first = i
end
local index = ''
for i, name in ipairs(list) do
  if i < first then
    redis.call('HDEL', logs, name)
  else
    index = index .. name .. ' ' .. num(bytes[name]) .. '\n'
  end
end
if index == '' then
  redis.call('DEL', logs)
else
  redis.call('HSET', logs, 'index', index)
end
return {'OK', nowtext}
