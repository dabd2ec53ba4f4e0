package main

// limitPlants are in how often a function is called, and where and beside which
// others it may run.
var limitPlants = []plant{
	{
		name: "retry: stale writers tried again", promise: "A run whose write was refused as stale is not tried again with the same token.",
		edits: []edit{{schedulerDir + "retry.go", "case errors.Is(err, fence.ErrStale):", "case errors.Is(err, fence.ErrStale) && false:"}},
		pkg:   scheduler, tests: []string{"TestRetryAllows"},
	},
	{
		name: "places: no order", promise: "Who waits for a place goes by priority.",
		edits: []edit{{schedulerDir + "places.go", "cmp.Compare(b.job.Priority, a.job.Priority),", ""}},
		pkg:   scheduler, tests: []string{"TestTurns", "TestMaxRunning", "TestGroupPriority"},
	},
	{
		name: "group: slot not asked for", promise: "No more runs of a group go on at once than it has slots.",
		edits: []edit{{schedulerDir + "slots.go", "if x.job.Group == \"\" {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestGroup", "TestGroupIsFull", "TestSlotOfTheDead"},
	},
}
