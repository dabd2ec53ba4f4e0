-- Returns a line for each stored value, except the key ARGV[1]. The time left of a key
-- is counted in steps, see Step.
local lines = {}
local function add(...) lines[#lines + 1] = table.concat({...}, ' ') end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local kind = redis.call('TYPE', key).ok
  local left = redis.call('PTTL', key)
  local steps = left < 0 and 'never' or string.format('%.0f', math.floor(left / 20000000 + 0.5))
  if key == ARGV[1] then
  elseif kind == 'string' then
    add(key, '=', redis.call('GET', key), 'runs out', steps)
  elseif kind == 'hash' then
    local all = redis.call('HGETALL', key)
    for i = 1, #all, 2 do add(key, all[i], '=', all[i + 1], 'runs out', steps) end
  elseif kind == 'zset' then
    for _, record in ipairs(redis.call('ZRANGE', key, '0', '-1')) do
      add('score', redis.call('ZSCORE', key, record), 'of', key, record, 'runs out', steps)
    end
  else
    add(key, 'is a', kind)
  end
end
return lines
