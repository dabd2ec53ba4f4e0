package main

// handoverPlants are in what a drain does with runs that a crash would have repeated.
var handoverPlants = []plant{
	{
		name: "handover: never", promise: "A drain loses no run that a crash keeps.",
		edits: []edit{{schedulerDir + "handover.go", "if x.job.OnCrash != CrashRerun || end.err == nil {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestDrainHandsOver", "TestHandedOverToTheNextStart"},
	},
}
