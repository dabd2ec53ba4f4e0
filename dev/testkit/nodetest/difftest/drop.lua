-- Deletes expiring data.
for _, key in ipairs(redis.call('KEYS', '*')) do
  if redis.call('PTTL', key) >= 0 then redis.call('DEL', key) end
end
return {}
