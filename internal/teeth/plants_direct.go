package main

// directPlants are in the tries of a replica, and in looks at what became of a tick.
var directPlants = []plant{
	{
		name: "direct: never in one round", promise: "A direct claim is one round.",
		edits: []edit{{redlock + "claim.go", "\tif t.req.Direct {", "\tif t.req.Direct = false; t.req.Direct {"}},
		pkg:   redlockPkg, tests: []string{"TestClaimsAskAllNodes"}, says: "a claim in one round costs",
	},
	{
		name: "direct: token of the whole millisecond", promise: "The token of a direct try is above that of an earlier claim of the same millisecond.",
		edits: []edit{{redlock + "claim.go", "uint64(at.Unix())<<20 + uint64(at.Nanosecond())<<20/uint64(time.Second)", "uint64(at.UnixMilli())<<20/1000"}},
		pkg:   redlockPkg, tests: []string{"TestDirectClaimsWithinAMillisecond"}, says: "costs",
	},
	{
		name: "try: who waits takes locks", promise: "Who waits behind a lease asks whether it is free before it takes anything.",
		edits: []edit{{redlock + "locker.go", "\tif req.Waiting {\n", "\tif req.Waiting && false {\n"}},
		pkg:   redlockPkg, tests: []string{"TestWaitingAsksFirst"},
	},
	{
		name: "try: waits for stragglers", promise: "A claim is over when a quorum has granted it or cannot any more.",
		edits: []edit{{redlock + "round.go", "\tcase granted+r.pending >= quorum:", "\tcase r.pending > 0:"}},
		pkg:   redlockPkg, tests: []string{"TestRefusalDoesNotWaitForStragglers"},
	},
	{
		name: "try: FINISH overtakes COMMIT", promise: "Each node's FINISH waits for its COMMIT's answer.",
		edits: []edit{{redlock + "round.go", "r.t.after(i, func() { r.send(i) })", "r.send(i)"}},
		pkg:   redlockPkg, tests: []string{"TestFinishDoesNotOvertakeCommit"},
	},
	{
		name: "try: VOID overtakes COMMIT", promise: "Each node's VOID waits for its COMMIT's answer.",
		edits: []edit{{redlock + "round.go", "\t\tr.t.after(node, func() {\n\t\t\tif r.t.stateAt(node).left {\n", "\t\t(func(f func()) { f() })(func() {\n\t\t\tif !p.left {\n"}},
		pkg:   redlockPkg, tests: []string{"TestVoidDoesNotOvertakeCommit"},
	},
	{
		name: "lease: nodes that return are left out", promise: "A lease spreads to nodes that were down when it was claimed.",
		edits: []edit{{redlock + "round.go", "\tif r.t.stateAt(node).claimed {", "\tif !r.t.stateAt(node).claimed || true {"}},
		pkg:   redlockPkg, tests: []string{"TestLeaseSpreadsToNodesThatReturn"},
	},
	{
		name: "lease: a restarted node stays out", promise: "A restarted node sets the lock of its claim again while it abstains.",
		edits: []edit{{"internal/rules/lease.go", "\t\tif s.Open != t.Owner {", "\t\tif s.Open != t.Owner || n.Now <= n.Floor {"}},
		pkg:   redlockPkg, tests: []string{"TestLeaseOutlivesRollingRestarts"},
	},
	{
		name: "lease: redsync's verdict ignored", promise: "redsync decides whether a round was won in time.",
		edits: []edit{{redlock + "pool.go", "const validityShare = 0.5", "const validityShare = 1e-12"}},
		pkg:   redlockPkg, tests: []string{"TestClaimsAskAllNodes"},
	},
	{
		name: "lease: redsync's deadline ignored", promise: "A lease ends no later than redsync's mutex.",
		edits: []edit{{redlock + "claim.go", "\treturn own.Add(-by)", "\treturn own.Add(-by * 0)"}},
		pkg:   redlockPkg, tests: []string{"TestEarlier"},
	},
}
