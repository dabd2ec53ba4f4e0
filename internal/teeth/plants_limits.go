package main

// limitPlants are in how often a function is called, and where and beside which
// others it may run.
var limitPlants = []plant{
	{
		name: "retry: permanent failures tried again", promise: "What an author calls permanent is not tried again.",
		edits: []edit{{schedulerDir + "retry.go", "case err == nil, skipped, jobs.IsPermanent(err):", "case err == nil, skipped:"}},
		pkg:   scheduler, tests: []string{"TestRetryAllows", "TestRetry"},
	},
	{
		name: "retry: stale writers tried again", promise: "A run whose write was refused as stale is not tried again with the same token.",
		edits: []edit{{schedulerDir + "retry.go", "case errors.Is(err, fence.ErrStale):", "case errors.Is(err, fence.ErrStale) && false:"}},
		pkg:   scheduler, tests: []string{"TestRetryAllows"},
	},
	{
		name: "retry: pauses do not grow", promise: "The pause between two calls doubles.",
		edits: []edit{{schedulerDir + "retry.go", "limit = min(2*limit, r.MaxBackoff)", "_ = limit"}},
		pkg:   scheduler, tests: []string{"TestRetryPause", "TestRetry"},
	},
	{
		name: "retry: begins while draining", promise: "A replica that drains begins no further call.",
		edits: []edit{{schedulerDir + "tries.go", "if draining.Err() != nil {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestDrainEndsTries"},
	},
	{
		name: "retry: pause goes on while draining", promise: "A drain does not wait for pauses between calls.",
		edits: []edit{{schedulerDir + "tries.go", "case <-draining.Done():", "case <-make(chan bool):"}},
		pkg:   scheduler, tests: []string{"TestDrainEndsTries"},
	},
	{
		name: "retry: after the lease was lost", promise: "A run whose context has ended is not tried again.",
		edits: []edit{
			{schedulerDir + "tries.go", "case <-ctx.Done():", "case <-make(chan bool):"},
			{schedulerDir + "tries.go", "if ctx.Err() != nil {\n\t\t\tend.cause", "if false {\n\t\t\tend.cause"},
		},
		pkg: scheduler, tests: []string{"TestNoTryAfterTheLease"},
	},
	{
		name: "retry: a call without end", promise: "The context of a call ends at retry.attempt_timeout.",
		edits: []edit{{schedulerDir + "call.go", "limit > 0 {", "limit < 0 {"}},
		pkg:   scheduler, tests: []string{"TestRetry"},
	},
	{
		name: "placement: labels ignored", promise: "Only replicas that have a job's labels run it.",
		edits: []edit{{schedulerDir + "attempt.go", "if !fits(a.cfg.Labels, a.job.Labels) {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestPlacement", "TestNobodyHasTheLabels"},
	},
	{
		name: "placement: others counted in the rank", promise: "Nobody waits for replicas that cannot run the job.",
		edits: []edit{{schedulerDir + "rank.go", "!fits(r.Labels, labels)", "!fits(r.Labels, nil)"}},
		pkg:   scheduler, tests: []string{"TestPlacement"},
	},
	{
		name: "placement: ticks for nobody unsaid", promise: "A tick that no live replica may run is accounted for.",
		edits: []edit{{schedulerDir + "placement.go", "if len(fitting(there, a.job.Labels)) == 0 {", "if len(fitting(there, a.job.Labels)) < 0 {"}},
		pkg:   scheduler, tests: []string{"TestNobodyHasTheLabels"},
	},
	{
		name: "placement: who came later counts", promise: "A tick that came before the first replica that may run it is accounted for.",
		edits: []edit{{schedulerDir + "placement.go", "return r.Started.After(a.tick.start)", "return false"}},
		pkg:   scheduler, tests: []string{"TestNobodyHasTheLabels"},
	},
	{
		name: "places: freed at the end of the context", promise: "A replica's place is free when the function has returned.",
		edits: []edit{{schedulerDir + "engine.go", "a.overdue = p.since", "a.overdue = p.since\n\t\ta.places.leave()"}},
		pkg:   scheduler, tests: []string{"TestNoPlace"},
	},
	{
		name: "slots: asked for all the time", promise: "Who waits long for a slot asks every few seconds.",
		edits: []edit{{schedulerDir + "claim.go", "longest = longestWait", "longest = longestRetry"}},
		pkg:   scheduler, tests: []string{"TestLongWaitForASlotAsksSeldom"},
	},
	{
		name: "backfill: all at once", promise: "Of a backfill so many runs go on at once as were asked for.",
		edits: []edit{{schedulerDir + "backfill.go", "bounded.GroupSize = min(bounded.GroupSize, most)", "bounded.GroupSize = max(bounded.GroupSize, 4)"}},
		pkg:   scheduler, tests: []string{"TestBackfillConcurrency"},
	},
	{
		name: "backfill: goes first", promise: "A backfill that waits for its slots keeps nobody from the others.",
		edits: []edit{{schedulerDir + "backfill.go", "\treturn 1\n", "\treturn 0\n"}},
		pkg:   scheduler, tests: []string{"TestBackfillLetsOthersGoFirst"},
	},
	{
		name: "places: no order", promise: "Who waits for a place goes by priority.",
		edits: []edit{{schedulerDir + "places.go", "cmp.Compare(b.job.Priority, a.job.Priority),", ""}},
		pkg:   scheduler, tests: []string{"TestTurns", "TestMaxRunning", "TestGroupPriority"},
	},
	{
		name: "places: priorities counted for each tick", promise: "A limit costs a tick little, however many wait.",
		edits: []edit{{schedulerDir + "line.go", "if e.larger == nil {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestManyWaitForAPlace"},
	},
	{
		name: "places: kept between tries", promise: "A tick that waits for somebody keeps no place from others.",
		edits: []edit{{schedulerDir + "claim.go", "a.leavePlace()", ""}},
		pkg:   scheduler, tests: []string{"TestWaitingKeepsNoPlace"},
	},
	{
		name: "places: skips of what ran elsewhere", promise: "A replica that was full does not call a tick skipped that another ran.",
		edits: []edit{{schedulerDir + "admission.go", "return run.ID() == id })", "return false && run.ID() == id })"}},
		pkg:   scheduler, tests: []string{"TestPlaceElsewhere"},
	},
	{
		name: "group: slot not kept", promise: "A run ends before the lease of its slot.",
		edits: []edit{{schedulerDir + "keep.go", "locking.Keep(&a.runs, a.tenure(), keeping)", "locking.Keep(&a.runs, a.lease, keeping)"}},
		pkg:   scheduler, tests: []string{"TestSlotLost"},
	},
	{
		name: "group: slot not asked for", promise: "No more runs of a group go on at once than it has slots.",
		edits: []edit{{schedulerDir + "slots.go", "if a.job.Group == \"\" {", "if true {"}},
		pkg:   scheduler, tests: []string{"TestGroup", "TestGroupIsFull", "TestSlotOfTheDead"},
	},
	{
		name: "group: slot not given back", promise: "The slot of a run that has ended is free at once.",
		edits: []edit{{schedulerDir + "slots.go", "_ = slot.Release(ctx, nil)", "_, _ = ctx, slot"}},
		pkg:   scheduler, tests: []string{"TestGroup", "TestGroupPriority"},
	},
	{
		name: "group: claim kept without a slot", promise: "A tick that found no slot was not run, and is not called interrupted.",
		edits: []edit{{schedulerDir + "run.go", "a.void(lease)\n\t\ta.conclude(v)", "a.conclude(v)"}},
		pkg:   scheduler, tests: []string{"TestGroupIsFull"},
	},
	{
		name: "group: claim not kept while waiting", promise: "A tick that waits for a slot stays claimed.",
		edits: []edit{{schedulerDir + "slots.go", "k := locking.Keep(&a.runs, a.lease, a.keeping())", "k := locking.Keep(&a.runs, a.lease, locking.HoldConfig{Every: 1 << 60, Margin: a.cfg.SafetyMargin})"}},
		pkg:   scheduler, tests: []string{"TestQueuingForASlot"},
	},
	{
		name: "group: drain gives up what waits", promise: "A claim that waits for its slot when the replica drains is run all the same.",
		edits: []edit{{schedulerDir + "slots.go", "!errors.Is(cause, jobs.ErrDraining) {", "cause != nil {"}},
		pkg:   scheduler, tests: []string{"TestDrainWaitsForASlot"},
	},
}
