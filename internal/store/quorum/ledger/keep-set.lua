-- Stores the contents of a set of jobs, or renews its expiry.
-- KEYS[2] the contents
-- arg(1) how long to keep it from now on, ms
-- arg(2) the contents; none for a renewal
-- Replies OK, 1 if it is stored, else 0
serve()
if nargs >= 2 then
  redis.call('SET', KEYS[2], arg(2), 'PX', arg(1))
  return {'OK', nowtext, '1'}
end
return {'OK', nowtext, num(redis.call('PEXPIRE', KEYS[2], arg(1)))}
