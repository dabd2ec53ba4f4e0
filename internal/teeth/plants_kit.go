package main

const (
	schedtest    = "./scheduler/schedtest"
	schedtestDir = "scheduler/schedtest/"
)

// kitPlants are in the kit with which users test their jobs.
var kitPlants = []plant{
	{
		name: "kit: a dead replica speaks", promise: "What a killed replica does has no effect on the cluster.",
		edits: []edit{{schedtestDir + "gate.go", "\tif g.dead.Load() {\n\t\treturn errors", "\tif false {\n\t\treturn errors"}},
		pkg:   schedtest, tests: []string{"TestKill"},
	},
	{
		name: "kit: what a dead replica said is heard", promise: "Nor what it was at, nodes being away, when it was killed.",
		edits: []edit{{schedtestDir + "gate.go", "\terr := answered(ctx)\n\tg.pass()\n\tif g.dead.Load() {", "\tdead := g.dead.Load()\n\terr := answered(ctx)\n\tg.pass()\n\tif dead {"}},
		pkg:   schedtest, tests: []string{"TestKillUnheard"},
	},
	{
		name: "kit: a dead replica's function lives", promise: "A function whose replica was killed is told.",
		edits: []edit{{schedtestDir + "replica.go", "\tl.killed(ErrKilled)\n", ""}},
		pkg:   schedtest, tests: []string{"TestKill"},
	},
	{
		name: "kit: a frozen replica hears", promise: "A function of a frozen replica is not told that its lease has gone.",
		edits: []edit{{schedtestDir + "replica.go", "\t\tg.pass()\n\t\tif !g.dead.Load() {", "\t\tif !g.dead.Load() {"}},
		pkg:   schedtest, tests: []string{"TestFreeze"},
	},
	{
		name: "kit: a frozen replica speaks", promise: "A frozen replica sends nothing.",
		edits: []edit{{schedtestDir + "gate.go", "\topen := g.open\n\tg.mu.Unlock()\n\t<-open", "\tg.mu.Unlock()"}},
		pkg:   schedtest, tests: []string{"TestFreeze"},
	},
	{
		name: "kit: stopped nodes answer", promise: "Without nodes nothing is claimed, extended or recorded.",
		edits: []edit{{schedtestDir + "world.go", "\t\tw.up = make(chan struct{})\n\t}", "\t}"}},
		pkg:   schedtest, tests: []string{"TestNodesStop"},
	},
	{
		name: "kit: a lost lease is kept", promise: "A lease that was taken away cannot be extended.",
		edits: []edit{{schedtestDir + "world.go", "l.lost.Store(true)", "l.lost.Store(false)"}},
		pkg:   schedtest, tests: []string{"TestLoseLease"},
	},
	{
		name: "kit: ticks too many are expected", promise: "Expect refuses a tick that no line names.",
		edits: []edit{{schedtestDir + "expect.go", "range max(len(ticks), len(lines))", "range len(lines)"}},
		pkg:   schedtest, tests: []string{"TestCompare"},
	},
	{
		name: "kit: the replaced function is called", promise: "A function that the test put in place is called instead of the job's own.",
		edits: []edit{{schedtestDir + "cluster.go", "if fn := c.instead[job]; fn != nil {", "if fn := c.instead[job]; fn == nil {"}},
		pkg:   schedtest, tests: []string{"TestReplace"},
	},
}
