package main

// runPlants are in what is kept of each run, and in the page that shows it.
var runPlants = []plant{
	{
		name: "runs: down nodes were not asked", promise: "A node that is known to be down is told from one that was spared.",
		edits: []edit{{redlockDir + "tally.go", "v.err != nil || !node.Up()", "v.err != nil"}},
		pkg:   redlockPkg, tests: []string{"TestPollOfAClaim"},
	},
	{
		name: "runs: extensions without their poll", promise: "Each extension says what the nodes said to it.",
		edits: []edit{{redlockDir + "lease.go", "s.polled.Store(&polled)", "_ = polled"}},
		pkg:   redlockPkg, tests: []string{"TestPollOfAClaim"},
	},
	{
		name: "runs: slots hide the poll", promise: "A run with a slot says what the nodes said to its own lease.",
		edits: []edit{{schedulerDir + "tenure.go", "if polled, ok := p.job.(locking.Polled); ok {", "if polled, ok := p.job.(locking.Polled); ok && false {"}},
		pkg:   scheduler, tests: []string{"TestPollsAreKept"},
	},
	{
		name: "runs: all beats are kept", promise: "What is kept of extensions is bounded, however long a run lasts.",
		edits: []edit{{schedulerDir + "beats.go", "len(all.Last)+1-mostBeats", "len(all.Last)+1-1<<20"}},
		pkg:   scheduler, tests: []string{"TestPulseIsBounded"},
	},
	{
		name: "runs: silent ones are stored", promise: "A run that logs nothing costs the nodes nothing.",
		edits: []edit{{schedulerDir + "runlog_keep.go", "if written == stored {", "if written < stored {"}},
		pkg:   scheduler, tests: []string{"TestSilentRunsAreNotStored"},
	},
}
