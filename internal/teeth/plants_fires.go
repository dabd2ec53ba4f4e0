package main

// firePlants are in what an ordinary fire costs.
var firePlants = []plant{
	{
		name: "fires: goroutines for one attempt each", promise: "Goroutines that are done with an attempt stay for the next.",
		edits: []edit{{schedulerDir + "crew.go", "len(c.idle) < idleHands", "len(c.idle) < 0"}},
		pkg:   scheduler, tests: []string{"TestGoroutinesStayForTheNextAttempt"},
	},
	{
		name: "fires: nobody is called", promise: "Who takes an attempt calls another hand for those that wait behind it.",
		edits: []edit{{schedulerDir + "crew.go", "a := c.line.take()\n\tc.fetch()\n", "a := c.line.take()\n"}},
		pkg:   scheduler, tests: []string{"TestNobodyWaitsBehindWhatLasts"},
	},
	{
		name: "fires: a row loses its head", promise: "When the first of those that come together goes, the next orders them.",
		edits: []edit{{schedulerDir + "due.go", "if meeting := q.meeting(head); *meeting == head {", "if meeting := q.meeting(head); *meeting == nil {"}},
		pkg:   scheduler, tests: []string{"TestDueQueueKeepsOrder"},
	},
	{
		name: "fires: each stands in the heap", promise: "Jobs that come at the same instant cost the heap one place.",
		edits: []edit{{schedulerDir + "due.go", "if head == nil || !head.next.start().Equal(j.next.start()) {", "if head != j {"}},
		pkg:   scheduler, tests: []string{"TestDueQueueHasOneOfThoseThatComeTogether"},
	},
	{
		name: "fires: all calls are watched", promise: "A function that returns at once costs no goroutine, no timer and no context.",
		edits: []edit{{schedulerDir + "call.go", "\tc.watch.begin(c)\n", "\tc.last()\n"}},
		pkg:   scheduler, tests: []string{"TestFireIsCheap"},
	},
	{
		name: "fires: channels for calls that are over", promise: "What has returned when it is looked at costs nothing more.",
		edits: []edit{{schedulerDir + "call.go", "if c.stage.Load() != quick {", "if c.stage.Load() > gone {"}},
		pkg:   scheduler, tests: []string{"TestFireIsCheap"},
	},
	{
		name: "fires: what lasts is not found", promise: "The lease of a function that takes its time is extended, and lost in time.",
		edits: []edit{{schedulerDir + "watch.go", "\t\tc.last()\n", "\t\t_ = c\n"}},
		pkg:   scheduler, tests: []string{"TestCallsThatLastAreFound"},
	},
	{
		name: "fires: the watch sleeps on", promise: "A call that begins after a pause is watched like the first.",
		edits: []edit{{schedulerDir + "watch.go", "\tif w.looks = len(w.older) > 0; w.looks {", "\tif len(w.older) > 0 {"}},
		pkg:   scheduler, tests: []string{"TestCallsThatLastAreFound"},
	},
	{
		name: "fires: a lazy context forgets its cause", promise: "A context that was ended before anybody waited for it has the cause.",
		edits: []edit{{schedulerDir + "lazy.go", "if l.made.Load() != nil || l.over() {\n\t\tif value", "if l.over() {\n\t\tif value"}},
		pkg:   scheduler, tests: []string{"TestLazyContextIsLikeAnyOther"},
	},
	{
		name: "fires: a lazy deadline is no end", promise: "A context whose deadline has passed has ended, whoever asks.",
		edits: []edit{{schedulerDir + "lazy.go", "\tif l.over() {\n\t\treturn", "\tif false {\n\t\treturn"}},
		pkg:   scheduler, tests: []string{"TestLazyContextIsLikeAnyOther"},
	},
	{
		name: "fires: kept from when it lasts", promise: "MaxHold counts from when the work began.",
		edits: []edit{{holdGo, "begun: cfg.Begun}", "begun: time.Now()}"}},
		pkg:   locking, tests: []string{"TestKeepCountsFromWhenTheWorkBegan"},
	},
	{
		name: "idle: a job of one's own", promise: "All who look at a job share it.",
		edits: []edit{{schedulerDir + "publish.go", "post := posted{Job: j, since: now}", "own := *j\n\t\tpost := posted{Job: &own, since: now}"}},
		pkg:   scheduler, tests: []string{"TestIdleJobIsSmall"},
	},
	{
		name: "idle: told to nobody", promise: "Where there is no roster, nothing is kept of what is to be published.",
		edits: []edit{{schedulerDir + "publish.go", "if p.roster != nil {", "if p != nil {"}},
		pkg:   scheduler, tests: []string{"TestNothingIsKeptToBePublishedToNobody"},
	},
	{
		name: "fires: a lease lost before it was kept", promise: "A run whose lease ended before the call was found to last has lost it.",
		edits: []edit{{schedulerDir + "keep.go", "if a.keeper == nil && locking.Expired(time.Now(), a.end()) {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestLeaseThatEndsAtOnceIsLost"},
	},
	{
		name: "fires: stamps lose a digit", promise: "The id of a run is written as package time would.",
		edits: []edit{{schedulerDir + "ledger.go", "t.Nanosecond()/int(time.Millisecond), 3)", "t.Nanosecond()/int(time.Millisecond)%100, 3)"}},
		pkg:   scheduler, tests: []string{"TestStampsAreThoseOfPackageTime"},
	},
}
