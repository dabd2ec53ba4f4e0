-- Writes unless the token is smaller than the largest seen of the resource.
-- KEYS[1]  the guard's key: the largest token seen, decimal
-- KEYS[2…] the keys of write
-- ARGV[1]  the token, decimal, below 2^53
-- ARGV[2…] the arguments of write
-- write(KEYS, ARGV), the caller's script, is defined above
-- Replies {0, seen} for a stale token, else {1, the result of write}
local token, text = tonumber(ARGV[1]), redis.call('GET', KEYS[1])
local seen = tonumber(text or '0')
if not seen then return redis.error_reply('FENCE ' .. KEYS[1] .. ' holds no token') end
if seen > token then return {0, text} end
-- Store the token first: an older write must not follow one that fails halfway.
if seen < token then redis.call('SET', KEYS[1], ARGV[1]) end
local keys, args = {}, {}
for i = 2, #KEYS do keys[i - 1] = KEYS[i] end
for i = 2, #ARGV do args[i - 1] = ARGV[i] end
return {1, write(keys, args)}
