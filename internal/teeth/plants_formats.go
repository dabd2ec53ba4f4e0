package main

// formatPlants are in what releases read of one another.
var formatPlants = []plant{
	{
		name: "formats: an older record is blank", promise: "A node with the data of an older format is refused, with the way to clear it.",
		edits: []edit{{nodesDir + "prelude.lua", "if redis.call('EXISTS', KEYS[1]) == 1 then", "if false then"}},
		pkg:   nodesPkg, tests: []string{"TestOlderFormatsAreRefused"},
	},
}
