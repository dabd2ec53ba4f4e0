-- KEYS[1] the key
-- ARGV[1] its value
-- ARGV[2] its time to live in ms, 0 for ever
if ARGV[2] == '0' then return redis.call('SET', KEYS[1], ARGV[1]) end
return redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
