package main

// cellsDir and cellsPkg hold jobs apart that belong to several groups of nodes.
const (
	cellsDir = "internal/cells/"
	cellsPkg = "./internal/cells"
)

// cellPlants are in how jobs divide over several groups of nodes.
var cellPlants = []plant{
	{
		name: "cells: layout not compared", promise: "Nodes refuse replicas that would look for a job in another cell.",
		edits: []edit{{nodesDir + "cell.go", "if cell != \"\" {", "if cell == \"-\" {"}},
		pkg:   nodesPkg, tests: []string{"TestAnotherLayoutIsRefused"},
	},
	{
		name: "cells: one hides the others", promise: "A cell without a quorum hides nothing that the others say.",
		edits: []edit{{cellsDir + "ask.go", "case len(all) == len(errs):", "case len(all) > 0:"}},
		pkg:   cellsPkg, tests: []string{"TestRosterDuringAnOutage", "TestActsDuringAnOutage"},
	},
}
