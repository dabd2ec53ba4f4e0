-- Moves all expiries ARGV[1] ms nearer.
for _, key in ipairs(redis.call('KEYS', '*')) do
  local left = redis.call('PTTL', key)
  if left >= 0 then redis.call('PEXPIRE', key, string.format('%.0f', left - tonumber(ARGV[1]))) end
end
return {}
