package main

const (
	schedtest    = "./scheduler/schedtest"
	schedtestDir = "scheduler/schedtest/"
)

// kitPlants are in the kit with which users test their jobs.
var kitPlants = []plant{
	{
		name: "kit: a dead replica speaks", promise: "What a killed replica does has no effect on the cluster.",
		edits: []edit{{schedtestDir + "gate.go", "\tif g.dead.Load() {\n\t\treturn errors", "\tif false {\n\t\treturn errors"}},
		pkg:   schedtest, tests: []string{"TestKill"},
	},
}
