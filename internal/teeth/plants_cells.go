package main

// cellsDir and cellsPkg hold jobs apart that belong to several groups of nodes.
const (
	cellsDir = "scheduler/cells/"
	cellsPkg = "./scheduler/cells"
)

// cellPlants are in how jobs divide over several groups of nodes.
var cellPlants = []plant{
	{
		name: "cells: layout not compared", promise: "Nodes refuse replicas that would look for a job in another cell.",
		edits: []edit{{nodesDir + "membership.go", "if cell != \"\" {", "if cell == \"-\" {"}},
		pkg:   nodesPkg, tests: []string{"TestAnotherLayoutIsRefused"},
	},
	{
		name: "cells: a replica adds one", promise: "A cell that is to be added does not begin while the others decide on all jobs.",
		edits: []edit{{nodesDir + "join.go", "if err := s.settled(ctx, (*Set).mayFormat); err != nil {", "if err := error(nil); err != nil {"}},
		pkg:   nodesPkg, tests: []string{"TestCellIsNotAddedByAReplica"},
	},
	{
		name: "cells: declared new beside old ones", promise: "The nodes of a further cell are not declared new while the others know of none.",
		edits: []edit{{nodesDir + "init.go", "join(s.settled(ctx, (*Set).mayFormat), s.unserved(ctx))", "s.unserved(ctx)"}},
		pkg:   nodesPkg, tests: []string{"TestCellIsNotAddedByAReplica"},
	},
	{
		name: "cells: opened before all are sealed", promise: "No new cell is opened while an old one may still grant anything.",
		edits: []edit{{nodesDir + "relayout.go", "\t\tif err != nil {\n\t\t\treturn inCell(s.old, err)\n\t\t}\n", "\t\t_ = err\n"}},
		pkg:   nodesPkg, tests: []string{"TestNoCellIsOpenedBeforeAllAreSealed"},
	},
	{
		name: "cells: two layouts with one list", promise: "Of two changes to cells that are called the same, only one opens nodes.",
		edits: []edit{{nodesDir + "survey.go", " && (plan == s.plan || plan == \"\" || s.plan == \"\")", " && (plan != \"-\")"}},
		pkg:   nodesPkg, tests: []string{"TestTwoLayoutsWithOneCellInCommon"},
	},
	{
		name: "cells: the order matters", promise: "Replicas that list the same cells find a job in the same one.",
		edits: []edit{{cellsDir + "layout.go", "h := uint64(offset)", "h := uint64(offset) + uint64(len(name))"}},
		pkg:   cellsPkg, tests: []string{"TestPlacesNeverChange"},
	},
	{
		name: "cells: by name", promise: "Renaming a job moves it to no other cell.",
		edits: []edit{{cellsDir + "roster.go", "own := &shares[r.Layout.Of(j.StoredAs())]", "own := &shares[r.Layout.Of(j.Name)]"}},
		pkg:   cellsPkg, tests: []string{"TestRosterDuringAnOutage"},
	},
	{
		name: "cells: slots in several", promise: "The slots of a group belong to one cell.",
		edits: []edit{{cellsDir + "layout.go", "group, _, _ = strings.Cut(group, \":\")", ""}},
		pkg:   cellsPkg, tests: []string{"TestSlotsOfAGroupAreTogether"},
	},
	{
		name: "cells: one hides the others", promise: "A cell without a quorum hides nothing that the others say.",
		edits: []edit{{cellsDir + "ask.go", "case len(all) == len(errs):", "case len(all) > 0:"}},
		pkg:   cellsPkg, tests: []string{"TestRosterDuringAnOutage", "TestActsDuringAnOutage"},
	},
	{
		name: "cells: a pause covers others' jobs", promise: "A pause of all that one cell did not take skips none of its jobs.",
		edits: []edit{{cellsDir + "acts.go", "p.Job == \"\" && len(cells) < len(a.cells)", "p.Job == \"\" && len(cells) < 0"}},
		pkg:   cellsPkg, tests: []string{"TestActsDuringAnOutage"},
	},
	{
		name: "cells: an outage withdraws requests", promise: "What was asked of a cell stays asked while it has no quorum.",
		edits: []edit{{cellsDir + "acts.go", "\t\tif err == nil {\n\t\t\ta.last[i] = open[i]\n\t\t}\n", "\t\t_, a.last[i] = err, open[i]\n"}},
		pkg:   cellsPkg, tests: []string{"TestActsDuringAnOutage"},
	},
	{
		name: "cells: one holds up the ledger", promise: "Ticks that cannot be recorded in one cell do not hold up those of others.",
		edits: []edit{{schedulerDir + "recorders.go", "n, r.part = d.Parts(), d.Part", "_ = d"}},
		pkg:   scheduler, tests: []string{"TestRecordersAreApart"},
	},
	{
		name: "cells: served since the outage", promise: "Since when a job is served is not forgotten over an outage of its cell.",
		edits: []edit{{schedulerDir + "publish.go", " && !lacks(err, key) {", " {"}},
		pkg:   scheduler, tests: []string{"TestPublishesWhatCanBe"},
	},
	{
		name: "cells: formatted without seals", promise: "A cell of a changed layout that a replica formats waits like the others.",
		edits: []edit{{nodesDir + "cell.go", "s.era.rest(other.era.seals())", ""}},
		pkg:   nodesPkg, tests: []string{"TestBlankCellOfAChangedLayout"},
	},
	{
		name: "cells: claims before it has joined", promise: "Nothing is claimed on nodes that were not judged.",
		edits: []edit{{replicaDir + "cell.go", "if why := c.joining.Load(); why != nil {", "if why := c.joining.Load(); why != nil && c == nil {"}},
		pkg:   replica, tests: []string{"TestStartWithOneCellAway"},
	},
	{
		name: "cells: late refusal goes unnoticed", promise: "A cell that refuses the replica ends it, also later.",
		edits: []edit{{replicaDir + "run.go", "\t\t\t\tstop(refused[i])\n", ""}},
		pkg:   replica, tests: []string{"TestLateRefusalEndsTheReplica"},
	},
}
