package main

const (
	simPkg      = "./scheduler/internal/sim"
	nodetestDir = "internal/redlock/nodetest/"
	rulesDir    = "internal/rules/"
)

// simPlants are bugs that whole clusters in simulation must show. Those of a
// node's rules go into package rules, which the simulation's nodes run.
var simPlants = []plant{
	{
		name: "sim: one node is a quorum", promise: "Two quorums share a node.",
		edits: oneNodeDecides,
		pkg:   simPkg, tests: []string{"TestLocks"}, says: "tokens only grow",
	},
	{
		name: "sim: drift dropped", promise: "A lease ends on the replica before it does on any node.",
		edits: []edit{
			{redlock + "locker.go", "time.Duration(float64(ttl)*o.DriftFactor) + minDrift", "minDrift"},
			{redlock + "pool.go", "redsync.WithDriftFactor(t.l.cfg.DriftFactor)", "redsync.WithDriftFactor(0)"},
		},
		pkg: simPkg, tests: []string{"TestFastClocks"}, says: "one lease at a time",
	},
	{
		name: "sim: stale token accepted", promise: "Tokens only grow: a node refuses one that is not above its fence.",
		edits: []edit{{rulesDir + "claim.go", "(b.Token <= fence || b.Attempt <= s.attempts(t))", "b.Token <= fence && false || b.Attempt <= s.attempts(t)"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "tokens only grow",
	},
	{
		name: "sim: ticks not looked at", promise: "A tick that was claimed is not claimed again.",
		edits: []edit{{rulesDir + "vote.go", "case t.Plain:\n\t\treturn nil\n\tcase c.Owner", "case t.Plain, !t.Plain:\n\t\treturn nil\n\tcase c.Owner"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "once per tick",
	},
	{
		name: "sim: restart unnoticed", promise: "A node that may have forgotten abstains.",
		edits: []edit{{nodetestDir + "member.go", "if id != m.RunID && !c.n.Without.Restart {", "if false {"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "one lease at a time",
	},
	{
		name: "sim: anybody's lock freed", promise: "Who lost the lock does not free that of who has it.",
		edits: []edit{{rulesDir + "state.go", "case s.lockOf(t).Owner != t.Owner:", "case false:"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "one lease at a time",
	},
	{
		name: "sim: margin ignored", promise: "The job's context ends a margin before the lease.",
		edits: []edit{{holdGo, "now, end := time.Now(), deadline.Add(-k.cfg.Margin)", "now, end := time.Now(), deadline"}},
		pkg:   simPkg, tests: []string{"TestSim"}, says: "work stops before the lease ends",
	},
	{
		name: "sim: outage not recorded", promise: "Ticks that nobody could run in an outage are recorded after it.",
		edits: []edit{{schedulerDir + "recorder.go", "if d.told = true; later {", "if d.told = true; later && false {"}},
		pkg:   simPkg, tests: []string{"TestSim"}, says: "is not in the ledger",
	},
	{
		name: "sim: what is replaced goes on", promise: "A run ends when its job's next tick replaces it, on whichever replica it runs.",
		edits: []edit{{schedulerDir + "overlap.go", "for _, run := range j.running {\n\t\tif run.tick.at.Before(t.at) {", "for _, run := range j.running {\n\t\tif false {"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=200"}, says: "next tick replaces it",
	},
}
