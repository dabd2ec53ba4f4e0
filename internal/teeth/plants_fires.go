package main

// firePlants are in what an ordinary fire costs.
var firePlants = []plant{
	{
		name: "fires: begun after the lease", promise: "A function is not called when its lease has ended.",
		edits: []edit{{schedulerDir + "run.go", "\tif x.inTime() {", "\tif x.lease != nil {"}},
		pkg:   scheduler, tests: []string{"TestLeaseThatEndsBeforeTheFunction"},
	},
}
