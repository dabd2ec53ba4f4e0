-- Keeps what a set of jobs consists of, or says that it is still served.
-- KEYS[2] what was written down of it
-- arg(1) how long it is kept from now on, ms
-- arg(2) what to keep; none: what is there
-- Replies OK, 1 if it is kept, else 0
if #ARGV - 9 >= 2 then
  redis.call('SET', KEYS[2], arg(2), 'PX', arg(1))
  return {'OK', nowtext, '1'}
end
return {'OK', nowtext, num(redis.call('PEXPIRE', KEYS[2], arg(1)))}
