-- N5 FINISH: closes the tick, stores the record, frees the lock. A repeated request
-- gets the same answer. After begin.lua:
-- arg(6)   records kept per job
-- arg(7)   packed claim: the record of the start, which the end replaces
-- arg(8)   finished record without its kind, '' for none
-- arg(9)   1: handover, the tick is not done
-- arg(10)  1: a request of v may still arrive
-- Replies OK | RANOUT | LATE owner left holder tick token
-- claimed  the stream's claim is v's, and not void
-- letter  how it ends: O in time, R after its lock had expired, L after others could claim
local keep, packed, finished, handover, straggler = unpack(ARGV, args_before + 6, args_before + 10)
serve()
-- The first write changes nothing and needs no memory: after it a script may continue to
-- write, so a full node can finish. The lock goes last: while the user lacks a permission for
-- what comes before, the lease stays, and a later request can end it.
redis.call('ZREM', runs_key, '')

local claimed = owner == v and state ~= 'V'
local letter = 'L'
if claimed and state ~= '-' then
  letter = string.upper(state)
elseif lock == v and (open == v or overlaps) then
  letter = 'O'
elseif claimed and open == v then
  letter = 'R'
elseif finished ~= '' and redis.call('ZSCORE', runs_key, 'F' .. finished) then
  letter = 'O'
elseif finished ~= '' and redis.call('ZSCORE', runs_key, 'R' .. finished) then
  letter = 'R'
end
if claimed and state == '-' then
  if open == v then fence = accepted .. ' - - ' .. streams end
  redis.call('MSET', fence_key, fence, claim_key, (handover == '1' and string.lower(letter) or letter) .. string.sub(claim, 2))
end

if finished ~= '' then
  redis.call('ZADD', runs_key, ticktext, (letter == 'O' and 'F' or letter) .. finished)
  -- Only a later claim has moved the start into the set.
  if not claimed then redis.call('ZREM', runs_key, 'S' .. packed) end
  trim(runs_key, num(-tonumber(keep) - 1))
end
if mine then redis.call('DEL', lock_key) end
if straggler == '1' and not redis.call('SET', dead_key, '1', 'PX', num(2 * tonumber(ttl)), 'NX') then
  redis.call('HSET', KEYS[1], 'served', '1') -- again, since WAIT covers only requests that write (C9)
end
if letter == 'O' then return {'OK', nowtext} end
if letter == 'R' then return {'RANOUT', nowtext} end
code = 'LATE'
