-- The start of every script: access to the call's own keys and arguments.
-- KEYS[1], ARGV[1] to ARGV[4]  the header, which the calls of a request share
-- KEYS[2…], ARGV[5…]           the rule's own; with many calls, see many.lua
local function num(n) return string.format('%.0f', n) end

-- The current call: how many KEYS and ARGV come before its own, and how many arguments
-- it has. Rules that are called often read KEYS and ARGV directly.
local keys_before, args_before, nargs = 0, 4, #ARGV - 4
local function key(i) return KEYS[keys_before + i] end
local function arg(i) return i <= nargs and ARGV[args_before + i] or nil end
