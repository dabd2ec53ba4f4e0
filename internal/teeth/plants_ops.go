package main

// opsPlants are in what operators ask for and see: who holds what, forced
// release, FORGET.
var opsPlants = []plant{
	{
		name: "forget: while a version is served", promise: "A job is not forgotten while a replica serves any version of it.",
		edits: []edit{{schedulerDir + "forget.go", "cmp.Compare(a.Age, b.Age)", "cmp.Compare(b.Age, a.Age)"}},
		pkg:   scheduler, tests: []string{"TestAbandoned"},
	},
}
