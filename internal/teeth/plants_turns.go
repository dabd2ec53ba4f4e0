package main

// turnPlants are in who may try to claim, and when.
var turnPlants = []plant{
	{
		name: "turns: no bound", promise: "No more tries to claim are under way at once than Config.MaxClaims.",
		edits: []edit{{schedulerDir + "places.go", "\t\tq.taken++\n\t\treturn nil", "\t\treturn nil"}},
		pkg:   scheduler, tests: []string{"TestFirstInRankGoFirst", "TestTurnsAreKept"},
	},
	{
		name: "looks: a hint decides", promise: "No tick is missed or skipped because of a hint.",
		edits: []edit{
			{schedulerDir + "look.go", "if v := judge(hint, a.cfg.Replica); v.kind == lost {", "if v := judge(hint, a.cfg.Replica); v.kind == lost || errors.Is(hint, locking.ErrTaken) && a.until.Sub(a.clock.wall()) < time.Second {"},
			{schedulerDir + "look.go", "return false, v\n", "return false, verdict{kind: lost, err: hint}\n"},
		},
		pkg: scheduler, tests: []string{"TestHintsDecideNothing"},
	},
}
