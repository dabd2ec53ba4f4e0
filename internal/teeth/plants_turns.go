package main

// turnPlants are in who may try to claim, and when.
var turnPlants = []plant{
	{
		name: "turns: no bound", promise: "No more tries to claim are under way at once than Config.MaxClaims.",
		edits: []edit{{schedulerDir + "turns.go", "\t\tt.free--\n", ""}},
		pkg:   scheduler, tests: []string{"TestFirstInRankGoFirst", "TestTurnsAreKept"},
	},
	{
		name: "turns: rank ignored", promise: "Of the ticks that wait for a turn those go first for which the replica is first in rank.",
		edits: []edit{{schedulerDir + "turns.go", "cmp.Compare(a.rank, b.rank)", "0"}},
		pkg:   scheduler, tests: []string{"TestFirstInRankGoFirst", "TestTurnsGoByRank"},
	},
	{
		name: "turns: one is lost", promise: "A turn that was given to somebody who waits no more goes to the next.",
		edits: []edit{{schedulerDir + "turns.go", "heap.Remove(&t.waiting, w.index)\n\t\treturn\n\t}\n\tt.pass()", "heap.Remove(&t.waiting, w.index)\n\t}"}},
		pkg:   scheduler, tests: []string{"TestTurnsAreKept"},
	},
	{
		name: "turns: not left after a try", promise: "Whoever has tried leaves the turn to others.",
		edits: []edit{
			{schedulerDir + "claim.go", "a.leaveTurn()\n\t\tif err == nil", "if err == nil"},
			{schedulerDir + "claim.go", "defer a.leaveTurn()", ""},
		},
		pkg: scheduler, tests: []string{"TestFirstInRankGoFirst"},
	},
}
