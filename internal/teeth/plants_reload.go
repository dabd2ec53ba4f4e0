package main

// reloadPlants are in how jobs change while replicas run.
var reloadPlants = []plant{
	{
		name: "reload: removal forgets ticks", promise: "A tick that was due when its job was removed is accounted for.",
		edits: []edit{{schedulerDir + "update.go", "e.decided(j.Job, t, skippedFor(ledger.CodeRemoved))", "_ = t"}},
		pkg:   scheduler, tests: []string{"TestRemovedJobsQueueIsAccountedFor"},
	},
	{
		name: "reload: a removed job claims on", promise: "No tick of a job is claimed after it was removed.",
		edits: []edit{{schedulerDir + "update.go", "l.claiming.stopWaiting(errRemoved)", "_ = errRemoved"}},
		pkg:   scheduler, tests: []string{"TestRemovedTicksAreAccountedFor"},
	},
	{
		name: "reload: half a file is read", promise: "A file that is being written is not read.",
		edits: []edit{{configDir + "follow.go", "const settle = 300 * time.Millisecond", "const settle = time.Nanosecond"}},
		pkg:   replica, tests: []string{"TestReloadWaitsForTheWriter"},
	},
	{
		name: "reload: no way back", promise: "A version that was replaced, and comes back, begins anew.",
		edits: []edit{{schedulerDir + "since.go", "versions[i].replaced(versions) || ", ""}},
		pkg:   scheduler, tests: []string{"TestWayBackHasNoPast"},
	},
}
