-- PUT: writes values to a node that is sealed for a copy.
-- key(2)…  keys
-- arg(1) arg(2) arg(3) …  number of a key, score, and a member of this sorted set; or '' as
-- the score, and the value of the key
-- Replies OK, or OPEN if the node is not sealed for a copy
if node[5] ~= 'copy' then return {'OPEN', nowtext} end
for i = 1, nargs, 3 do
  local name, score, text = key(tonumber(arg(i))), arg(i + 1), arg(i + 2)
  if score == '' then redis.call('SET', name, text) else redis.call('ZADD', name, score, text) end
end
return {'OK', nowtext}
