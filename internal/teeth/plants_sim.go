package main

const (
	simPkg      = "./scheduler/internal/sim"
	nodetestDir = "locking/redlock/nodetest/"
)

// simPlants are bugs that whole clusters in simulation must show. Those of a
// node's rules go into its plain model, on which the simulation runs.
var simPlants = []plant{
	{
		name: "sim: one node less is a quorum", promise: "Two quorums share a node.",
		edits: []edit{{nodesDir + "set.go", "return len(s.nodes)/2 + 1", "return max(1, len(s.nodes)/2)"}},
		pkg:   simPkg, tests: []string{"TestLocks"}, says: "tokens only grow",
	},
	{
		name: "sim: drift dropped", promise: "A lease ends on the replica before it does on any node.",
		edits: []edit{{redlock + "config.go", "return time.Duration(float64(ttl)*c.DriftFactor) + leastDrift", "return 0"}},
		pkg:   simPkg, tests: []string{"TestFastClocks"}, says: "one lease at a time",
	},
	{
		name: "sim: stale token accepted", promise: "Tokens only grow: a node refuses one that is not above its fence.",
		edits: []edit{{nodetestDir + "claim.go", "if token <= c.fence() && !c.n.Without.Fence {", "if false {"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "tokens only grow",
	},
	{
		name: "sim: ticks not looked at", promise: "A tick that was claimed is not claimed again.",
		edits: []edit{{nodetestDir + "job.go", "case c.n.Without.Tick || !ticks:", "case ticks || !ticks:"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "once per tick",
	},
	{
		name: "sim: restart unnoticed", promise: "A node that may have forgotten abstains.",
		edits: []edit{{nodetestDir + "member.go", "if id != m.RunID && !c.n.Without.Restart {", "if false {"}},
		pkg:   simPkg, tests: []string{"TestChecksAreNeeded"}, says: "one lease at a time",
	},
	{
		name: "sim: anybody's lock freed", promise: "Who lost the lock does not free that of who has it.",
		edits: []edit{{nodetestDir + "job.go", "ok && (owner == c.v() || c.n.Without.Compare)", "ok && owner != \"\""}},
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
		name: "scheduler: own claim taken for another", promise: "A replica that gave up a claim accounts for its tick.",
		edits: []edit{{schedulerDir + "verdict.go", "errors.Is(err, locking.ErrClaimed) && claimant(err) == replica", "claimant(err) == \"\" && replica == \"\""}},
		pkg:   "./scheduler", tests: []string{"TestVerdicts"},
	},
	{
		name: "sim: what is replaced goes on", promise: "A run ends when its job's next tick replaces it, on whichever replica it runs.",
		edits: []edit{{schedulerDir + "overlap.go", "for _, run := range j.running {\n\t\tif run.tick.at.Before(t.at) {", "for _, run := range j.running {\n\t\tif false {"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=200"}, says: "next tick replaces it",
	},
	{
		name: "sim: the schedule overtakes the past", promise: "A job's schedule waits until its past is known: what is caught up goes first.",
		edits: []edit{{schedulerDir + "lane.go", "l.claiming == nil && l.scans == 0 &&", "l.claiming == nil &&"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-first=1700", "-seeds=300"}, says: "what was missed is caught up",
	},
	{
		name: "sim: a paused job begins", promise: "Once a pause is acknowledged and heard of, no run of the job begins.",
		edits: []edit{{schedulerDir + "lane.go", "|| e.skipPaused(j, t) {", "{"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=100"}, says: "a paused job does not begin",
	},
	{
		name: "sim: reloads end runs", promise: "A reload touches no run.",
		edits: []edit{{schedulerDir + "update.go", "	if j.busy() {\n", "	for _, run := range j.running {\n\t\trun.cancel(errRemoved)\n\t}\n\tif j.busy() {\n"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=300"}, says: "nothing but its policies ends a run",
	},
	{
		name: "sim: removed jobs are claimed", promise: "From a reload on no tick is claimed of a job that it removed.",
		edits: []edit{{schedulerDir + "update.go", "\t\t\tl.claiming.stopWaiting(errRemoved)\n", ""}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=500"}, says: "a job that was dropped is not claimed",
	},
	{
		name: "sim: one slot too many", promise: "No more runs of a group go on than it has slots.",
		edits: []edit{{schedulerDir + "slots.go", "(int(first)+i)%full.size)", "(int(first)+i)%(full.size+1))"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=100"}, says: "groups stay within their limits",
	},
	{
		name: "sim: catch-ups are dropped", promise: "What waits to be caught up is not skipped because another replica runs the first of it.",
		edits: []edit{{schedulerDir + "lane.go", "l.claiming.watches && !l.claiming.catchesUp && t.trigger != ByCatchUp", "l.claiming.watches"}},
		pkg:   simPkg, tests: []string{"TestPolicies"}, args: []string{"-seeds=500"}, says: "what was missed is caught up",
	},
}
