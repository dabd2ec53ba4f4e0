-- MARKS: what the node knows of all jobs together.
-- Replies OK since, ms; the largest token of forgotten jobs; their latest tick; 1 if the node
-- is sealed for a copy
return {'OK', nowtext, num(since), num(gc_fence), num(gc_tick), node[5] == 'copy' and '1' or ''}
