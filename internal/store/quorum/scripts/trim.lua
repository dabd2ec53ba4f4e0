-- Drops the records of a set up to the given rank. The highest tick dropped becomes the
-- score of the member 'E'.
local function trim(set, last)
  local goes = redis.call('ZRANGE', set, last, last, 'WITHSCORES')
  if not goes[1] then return end
  redis.call('ZREMRANGEBYRANK', set, '0', last)
  redis.call('ZADD', set, 'GT', goes[2], 'E')
end
