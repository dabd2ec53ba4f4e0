-- Keeps what was published.
-- KEYS[2] hash of names to "<ms of the node's clock>|<JSON>"
-- arg(1), arg(2) … name, JSON, and so on
-- Replies OK
for i = 1, #ARGV - 9, 2 do redis.call('HSET', KEYS[2], arg(i), nowtext .. '|' .. arg(i + 1)) end
return {'OK', nowtext}
