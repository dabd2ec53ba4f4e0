-- END: the copy is complete. Replicas may use the node.
-- arg(1)  since when the source remembers, ms; 0: always
-- arg(2)  the largest token of the source
-- arg(3)  the latest tick of its forgotten jobs, ms
-- Replies OK, or OPEN if the node is not sealed for a copy or has restarted since
if node[5] ~= 'copy' or since > 0 then return {'OPEN', nowtext} end
redis.call('HSET', KEYS[1], 'since', arg(1), 'gc_fence', arg(2), 'gc_tick', arg(3))
redis.call('HDEL', KEYS[1], 'sealed_for', 'sealed_names')
return {'OK', nowtext}
