package main

// turnPlants are in who may try to claim, and when.
var turnPlants = []plant{
	{
		name: "turns: no bound", promise: "No more tries to claim are under way at once than Config.MaxClaims.",
		edits: []edit{{schedulerDir + "places.go", "\t\tq.taken++\n\t\treturn nil", "\t\treturn nil"}},
		pkg:   scheduler, tests: []string{"TestFirstInRankGoFirst", "TestTurnsAreKept"},
	},
	{
		name: "turns: rank ignored", promise: "Of the ticks that wait for a turn those go first for which the replica is first in rank.",
		edits: []edit{{schedulerDir + "turns.go", "cmp.Compare(a.rank, b.rank)", "0"}},
		pkg:   scheduler, tests: []string{"TestFirstInRankGoFirst", "TestTurnsGoByRank"},
	},
	{
		name: "turns: one is lost", promise: "A turn that was given to somebody who waits no more goes to the next.",
		edits: []edit{{schedulerDir + "places.go", "heap.Remove(&q.waiting, w.index)\n\t\treturn\n\t}\n\tq.taken--\n\tq.pass()", "heap.Remove(&q.waiting, w.index)\n\t}"}},
		pkg:   scheduler, tests: []string{"TestTurnsAreKept"},
	},
	{
		name: "turns: not left after a try", promise: "Whoever has tried leaves the turn to others.",
		edits: []edit{
			{schedulerDir + "claim.go", "a.leaveTurn()\n\t\ta.cfg.Observer.Tried", "a.cfg.Observer.Tried"},
			{schedulerDir + "claim.go", "defer a.leaveTurn()", ""},
		},
		pkg: scheduler, tests: []string{"TestFirstInRankGoFirst"},
	},
	{
		name: "looks: nobody looks", promise: "Who is not first in rank looks before it competes.",
		edits: []edit{{schedulerDir + "look.go", "if !can {", "if can || !can {"}},
		pkg:   scheduler, tests: []string{"TestOthersLook", "TestPeek"},
	},
	{
		name: "looks: a hint decides", promise: "No tick is missed or skipped because of a hint.",
		edits: []edit{
			{schedulerDir + "look.go", "if v := judge(hint, a.cfg.Replica); v.kind == lost {", "if v := judge(hint, a.cfg.Replica); v.kind == lost || errors.Is(hint, locking.ErrTaken) && a.left() < time.Second {"},
			{schedulerDir + "look.go", "return false, v\n", "return false, verdict{kind: lost, err: hint}\n"},
		},
		pkg: scheduler, tests: []string{"TestHintsDecideNothing"},
	},
	{
		name: "looks: hints without end", promise: "After a few hints a replica tries to claim.",
		edits: []edit{{schedulerDir + "look.go", "a.hints == mostHints ||", ""}},
		pkg:   scheduler, tests: []string{"TestPeek"},
	},
	{
		name: "looks: no try before the window closes", promise: "A replica that was only hinted at others tries before the window of a tick closes.",
		edits: []edit{{schedulerDir + "look.go", "a.hints == mostHints || in >= a.left() {", "a.hints == mostHints {"}},
		pkg:   scheduler, tests: []string{"TestHintsDecideNothing"},
	},
	{
		name: "looks: the first in rank gives up", promise: "Who was refused in one round tries again with two.",
		edits: []edit{{schedulerDir + "claim.go", "in := a.retryDelay(tries+a.looks, took, err, a.random)\n\tif ", "in := a.retryDelay(tries+a.looks, took, err, a.random)\n\tif a.first || "}},
		pkg:   scheduler, tests: []string{"TestPeek"},
	},
	{
		name: "looks: in one round again", promise: "Who was refused in one round tries again with two.",
		edits: []edit{{schedulerDir + "claim.go", "alone := a.first && tries == 0", "alone := a.first"}},
		pkg:   scheduler, tests: []string{"TestPeek"},
	},
	{
		name: "looks: alone without a roster's word", promise: "A replica that does not know who lives claims in two rounds.",
		edits: []edit{{schedulerDir + "lane.go", "(crowd > 0 || e.cfg.Roster == nil)", "true"}},
		pkg:   scheduler, tests: []string{"TestNotAloneBeforeTheFirstAnswer"},
	},
	{
		name: "looks: crowds ask as many", promise: "Of many replicas that wait for a run each asks more seldom.",
		edits: []edit{{schedulerDir + "claim.go", "max(a.crowd, 1)", "max(0*a.crowd, 1)"}},
		pkg:   scheduler, tests: []string{"TestACrowdAsksAsOne"},
	},
	{
		name: "looks: at every replica's cost", promise: "A tick costs one claim, and one command for each further replica.",
		edits: []edit{{schedulerDir + "look.go", "if a.view == nil {\n", "if a.view == nil {\n\t\treturn nil\n"}},
		pkg:   "./scheduler/internal/sim", tests: []string{"TestCommandsPerTick"},
	},
	{
		name: "looks: each rank at its own instant", promise: "From some rank on all replicas look at the same time.",
		edits: []edit{{schedulerDir + "look.go", "min(rank, lookTogether)", "rank"}},
		pkg:   scheduler, tests: []string{"TestOthersLookTogether"},
	},
	{
		name: "looks: who looks early claims early", promise: "Who looked before its turn waits for it before it claims.",
		edits: []edit{{schedulerDir + "look.go", "hint == nil && early > 0", "hint == nil && early < 0"}},
		pkg:   scheduler, tests: []string{"TestOthersLookTogether"},
	},
	{
		name: "looks: again by chance", promise: "What a replica looks at together it looks at again together.",
		edits: []edit{{schedulerDir + "look.go", "0, hint, a.together)", "0, hint, a.random)"}},
		pkg:   scheduler, tests: []string{"TestLooksAgainTogether"},
	},
	{
		name: "looks: all at the same node", promise: "Replicas begin to look at different nodes, each at one for all that is due.",
		edits: []edit{{schedulerDir + "look.go", "return weight(\"\", a.tick.start, a.cfg.Replica)", "return 0"}},
		pkg:   scheduler, tests: []string{"TestLooksSpread"},
	},
}
