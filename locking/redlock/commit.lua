-- N3 COMMIT: accepts the token for the tick. Asking again is harmless. A claim in
-- one round begins with it.
-- KEYS[2..6] lock, claim, tombstone, runs, shares
-- arg(1..5)  v, stream, tick, ttl, beside
-- arg(6)     token
-- arg(7)     mode: 0 at most once, 1 at least once
-- arg(8)     attempt: counts the claims of the tick
-- arg(9)     holder, for humans
-- arg(10)    records kept per job
-- arg(11)    started record without its kind, '' for none
-- arg(12..)  those of tokens that this attempt has given up
-- Replies OK fence attempts | STALE fence attempts | DEAD | ABSTAIN floor |
-- FUTURE | LOST, LATER, DONE, CLAIMED owner left holder tick token
begin()
local none = no_say()
if none then return none end

local tokentext, mode, attempttext, holder, keep, record = args(6, 11)
local token, attempt = tonumber(tokentext), tonumber(attempttext)
-- Not a second more: the fence of this node's next life may begin right above.
if token > (now + gracems / 2) / 1000 * 2^20 or token >= 2^53 then
  return reply('FUTURE')
end

recall()
local mine = stored_owner == v
if mine and stored_token == tokentext and (stored_tick or '') == ticktext and stored_void ~= '1' then
  -- A share that is renewed is one with the token, or no larger one was accepted:
  -- else somebody may have had the lock meanwhile.
  local has, ended = true, false
  if beside then has, ended = has_share(tokentext) end
  if not in_the_way() and not ended and (has or accepted() <= token) then take_claimed() end
  return reply('OK', num(fence()), attempts())
end

local no = closed(mode, mine)
if no then return no end
if in_the_way() then return in_the_way_of('LOST') end
if token <= fence() then return reply('STALE', num(fence()), attempts()) end
-- The number of a void claim stays used.
if same_tick() and not mine and attempt <= tonumber(stored_attempt) then
  return reply('STALE', num(fence()), attempts())
end

serve()
-- The record of a start without a finish stays: that claim was left unfinished.
redis.call('HSET', claim, 'fence', tokentext, 'stream', stream,
  of.tick, ticktext, of.token, tokentext, of.owner, v, of.done, '0', of.void, '0', of.mode, mode,
  of.attempt, attempttext, of.holder, holder, of.at, nowtext)
take_claimed()
if shared then
  for p, s in pairs((shares_at(shares))) do
    if tonumber(s['until']) < now then drop_share_at(shares, p) end
  end
end
for i = 12, own.args do redis.call('ZREM', runs, 'S' .. arg(i)) end
if record ~= '' then
  redis.call('ZADD', runs, ticktext, 'S' .. record)
  -- A finish bounds them. Where the last claim had none, that is made up for here.
  if stored_owner and stored_done ~= '1' then
    trim(runs, num(-tonumber(keep) - 1))
  end
end
return reply('OK', tokentext, attempttext)
