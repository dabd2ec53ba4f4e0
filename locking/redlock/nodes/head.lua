-- The start of every script: clock, arguments, the server's run_id.
-- KEYS[1]    ns:node
-- ARGV[1]    name of the node, as this client lists it
-- ARGV[2]    hash of the list of members
-- ARGV[3]    epoch of the list
-- ARGV[4]    restart grace, ms
-- ARGV[5]    format version
-- ARGV[6]    1: durable, a restart loses nothing
-- ARGV[7]    1: the node may be an embedded one
-- ARGV[8]    1: also on a sealed node
-- ARGV[9]    ttl of leases, ms
-- ARGV[10…]  the rule's own; of many calls in one request, see many.lua
local function num(n) return string.format('%.0f', n) end

-- The call at hand: how many KEYS and ARGV come before its own, and how many
-- arguments it has. args(i, j) is arg(i) to arg(j), of a call that has so many.
local own = {keys_before = 0, args_before = 9, args = #ARGV - 9}
local function key(i) return KEYS[own.keys_before + i] end
local function arg(i) return i <= own.args and ARGV[own.args_before + i] or nil end
local function args(from, to) return unpack(ARGV, own.args_before + from, own.args_before + to) end

-- Drops the records of a set up to the given rank, and keeps the highest tick that has gone
-- as the score of the member 'E'.
local function trim(set, last)
  local goes = redis.call('ZRANGE', set, last, last, 'WITHSCORES')
  if not goes[1] then return end
  redis.call('ZREMRANGEBYRANK', set, '0', last)
  redis.call('ZADD', set, 'GT', goes[2], 'E')
end

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local nowtext = num(now)

-- runid returns the run_id of the server, 'embedded' where an embedded node
-- says in its own words that it has none and the caller allows that, else nil
-- and why not. A server that denies INFO is never taken for an embedded one.
local function runid(embedded)
  local info = redis.pcall('INFO', 'server')
  if type(info) ~= 'string' then
    local why = type(info) == 'table' and info.err or 'INFO answered nothing'
    if embedded and string.find(why, 'section (server) is not supported', 1, true) then
      return 'embedded'
    end
    return nil, why
  end
  local _, before = string.find(info, 'run_id:', 1, true)
  local id = before and string.match(info, '^%w+', before + 1)
  if id then return id end
  return nil, 'INFO server names no run_id'
end
