package main

var leases = promise{
	page: "guarantees/lease.md",
	text: "A local clock ends a job's context before another replica may start the job.",
	plants: []plant{
		{"N3: COMMIT ignores another's lock", rules, []edit{
			{scripts + "commit.lua", "elseif rival then", "elseif false then"},
		}},
		{"N3: COMMIT ignores an open claim of the tick", rules, []edit{
			{scripts + "commit.lua", " and place ~= here", ""},
		}},
		{"N4: EXTEND renews a lock of LOCK alone", rules, []edit{
			{scripts + "extend.lua", "elseif lock ~= v and", "elseif not mine and"},
		}},
		{"N4: a restarted node does not renew a lease", in(redlock, "TestLeaseOutlivesRollingRestarts"), []edit{
			{"internal/store/protocol/rules.go", "if s.Open != t.Owner {", "if s.Open != t.Owner || n.Now <= n.Floor {"},
		}},
		{"N5: FINISH frees another's lock", rules, []edit{
			{scripts + "finish.lua", "if mine then redis.call('DEL'", "if lock then redis.call('DEL'"},
		}},
		{"N5: an end that is refused in part frees the lock", in(redlock, "TestRefusedEndOnRedis"), []edit{
			{scripts + "finish.lua", "redis.call('ZREM', runs_key, '')", "if mine then redis.call('DEL', lock_key) end"},
		}},
		{"C2: a claim that a node made in part stays", in(redlock, "TestRefusedClaimOnRedis"), []edit{
			{redlock + "round.go", "case v.partial():", "case false:"},
		}},
		{"N6: an evicted holder can extend", rules, []edit{
			{scripts + "evict.lua", "redis.call('SET', key(3), arg(2), 'PX', num(2 * gracems))", ""},
		}},
		{"N9: a later tick ends an overlapping run", rules, []edit{
			{scripts + "finish.lua", "(open == v or overlaps)", "open == v"},
		}},
		{"C3: drift is ignored", in(redlock, "TestDeadline").saying("Deadline = "), []edit{
			{redlock + "locker.go", "time.Duration(float64(ttl)*o.DriftFactor) + minDrift", "0"},
		}},
		{"C3: redsync's verdict is ignored", in(redlock, "TestClaimsAskAllNodes"), []edit{
			{redlock + "try.go", "v, err := c.t.first.vote(c.ctx, c.node)\n\treturn v.ok(), err", "v, err := c.t.first.vote(c.ctx, c.node)\n\treturn v.ok() && false, err"},
		}},
		{"C3: an extension without a quorum counts", in(redlock, "TestExtendWithoutQuorum"), []edit{
			{redlock + "lease.go", "case ok && !s.isOver():\n\t\tdeadline", "case ok && !s.isOver() || granted > 0:\n\t\tdeadline"},
		}},
		{"C3: nodes that return do not get the claim", in(redlock, "TestLeaseSpreadsToNodesThatReturn"), []edit{
			{redlock + "round.go", ".claimed {\n\t\tr.send(node)", ".claimed || true {\n\t\tr.send(node)"},
		}},
		{"C3: work does not end a margin before the lease", in(sim, "TestSim").with("-seeds=100").saying("work stops before the lease ends"), []edit{
			{locking + "keep.go", "deadline.Add(-k.cfg.Margin)", "deadline"},
		}},
		{"C3: no local timer ends work", in(locking, "TestHoldEndsWorkBeforeTheLease"), []edit{
			{locking + "keep.go", "min(end.Sub(now), watchInterval)", "time.Hour"},
		}},
		{"C3: the wall clock is ignored", in(locking, "TestExpired", "TestSuspended"), []edit{
			{locking + "locking.go", " || !now.Round(0).Before(deadline.Round(0))", ""},
		}},
		{"lease: a function begins after it", in(engine, "TestLeaseThatEndsBeforeTheFunction"), []edit{
			{engine + "internal/attempt/run.go", "if x.inTime() {", "if x.run.lease != nil {"},
		}},
		{"lease: as long as a restarted node abstains", in(config, "TestReadReportsEveryMistakeWithItsPlace"), []edit{
			{config + "stores.go", "; ttl >= s.grace {", "; false && key != \"\" {"},
		}},
	},
}
