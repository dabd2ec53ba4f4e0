package main

// handoverPlants are in what a drain does with runs that a crash would have repeated.
var handoverPlants = []plant{
	{
		name: "handover: never", promise: "A drain loses no run that a crash keeps.",
		edits: []edit{{schedulerDir + "handover.go", "if a.job.OnCrash != CrashRerun || end.err == nil {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestDrainHandsOver", "TestHandedOverToTheNextStart"},
	},
	{
		name: "handover: of what runs at most once", promise: "With on_crash: skip the outcome of a drained run stays.",
		edits: []edit{{schedulerDir + "handover.go", "if a.job.OnCrash != CrashRerun || end.err == nil {", "if end.err == nil {"}},
		pkg:   scheduler, tests: []string{"TestNotHandedOver"},
	},
	{
		name: "handover: whatever ended the run", promise: "A run that was cancelled or timed out is not handed over.",
		edits: []edit{{schedulerDir + "handover.go", "errors.Is(end.cause, jobs.ErrDraining)", "end.cause != nil"}},
		pkg:   scheduler, tests: []string{"TestNotHandedOver"},
	},
	{
		name: "handover: unnoticed", promise: "A replica that lives runs the tick within two seconds.",
		edits: []edit{{schedulerDir + "rerun.go", "case a.minds(err):", "case false && a.minds(err):"}},
		pkg:   scheduler, tests: []string{"TestDrainHandsOver"},
	},
	{
		name: "handover: all tries again", promise: "The tries that have failed by themselves are not repeated.",
		edits: []edit{{schedulerDir + "handover.go", "if run.ID() == id && run.HandedOver() {", "if run.ID() != id && run.HandedOver() {"}},
		pkg:   scheduler, tests: []string{"TestDrainHandsOver"},
	},
	{
		name: "handover: slot kept", promise: "The slot of a run is free before its tick can be claimed again.",
		edits: []edit{{schedulerDir + "handover.go", "a.freeSlot()", ""}},
		pkg:   scheduler, tests: []string{"TestHandedOverWithoutItsSlot"},
	},
	{
		name: "handover: request closed", promise: "A request whose run was handed over is open until it is done.",
		edits: []edit{{schedulerDir + "settle.go", "(e.Outcome == Running || e.HandedOver())", "e.Outcome == Running"}},
		pkg:   scheduler, tests: []string{"TestTriggerIsHandedOver"},
	},
}
