package main

// calmPlants are in what keeps nodes that are asked much from being asked more.
var calmPlants = []plant{
	{
		name: "past: read by all", promise: "The past of a job is read by one replica, however many start.",
		edits: []edit{{schedulerDir + "scan_later.go", "fitting(peers, s.job.Labels)) > 0 {", "fitting(peers, s.job.Labels)) > 99 {"}},
		pkg:   scheduler, tests: []string{"TestPastIsReadByOne"},
	},
	{
		name: "past: read at once", promise: "All replicas together read the past slowly.",
		edits: []edit{{schedulerDir + "scan_later.go", "laterPace*time.Duration(max(1, len(peers)))", "0*laterPace"}},
		pkg:   scheduler, tests: []string{"TestPastIsReadByOne"},
	},
	{
		name: "past: left to the dead", promise: "What a replica that died has not accounted for, another one does.",
		edits: []edit{{schedulerDir + "scan_later.go", "time.Now().After(enough)", "!enough.IsZero()"}},
		pkg:   scheduler, tests: []string{"TestPastOfTheDead"},
	},
	{
		name: "overload: as many turns as ever", promise: "Who was not answered asks for less: after an overload all is as before, by itself.",
		edits: []edit{{schedulerDir + "claim.go", "a.turns.silence(begun)", "_ = begun"}},
		pkg:   scheduler, tests: []string{"TestOverloadEnds"},
	},
	{
		name: "overload: turns do not come back", promise: "When nodes answer again, as many tries may be under way as before.",
		edits: []edit{{schedulerDir + "turns.go", "\t\tt.limit++\n", ""}},
		pkg:   scheduler, tests: []string{"TestTurnsFollowAnswers"},
	},
	{
		name: "overload: a turn less for each", promise: "What was asked together and not answered counts once.",
		edits: []edit{{schedulerDir + "turns.go", "if begun.Before(t.halved) {", "if false {"}},
		pkg:   scheduler, tests: []string{"TestTurnsFollowAnswers"},
	},
	{
		name: "looks: silence calls for a try", promise: "After a silence a replica looks at the next node, instead of asking all of them.",
		edits: []edit{{schedulerDir + "look.go", "if !silent && !errors.Is(hint, locking.ErrTaken)", "if !errors.Is(hint, locking.ErrTaken)"}},
		pkg:   scheduler, tests: []string{"TestPeek"},
	},
	{
		name: "looks: silence unsaid", promise: "A look tells a node that is silent from one that knows of nothing.",
		edits: []edit{{redlockDir + "watch.go", "case v.silent():", "case v.silent() && false:"}},
		pkg:   redlock, tests: []string{"TestLookAtASilentNode"},
	},
	{
		name: "outage: those who are up are asked", promise: "Where too few nodes are up to grant anything those are not asked.",
		edits: []edit{{redlockDir + "locker.go", "ctx.Err() != nil || a.hopeless() {", "ctx.Err() != nil || a.hopeless() && false {"}},
		pkg:   redlock, tests: []string{"TestTooFewNodesAreUp"},
	},
}
