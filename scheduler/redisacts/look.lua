-- Reads all acts.
-- KEYS as in common.lua
-- arg(1)  the version that the reader knows, '' for none
-- Replies SAME 1-if-it-vouches, or as everything() does
if arg(1) ~= '' and arg(1) == (redis.call('HGET', acts, 'version') or '0') then
  return {'SAME', nowtext, now > floor and '1' or '0'}
end
return everything()
