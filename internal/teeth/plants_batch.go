package main

// batchPlants are in how calls to a node share requests.
var batchPlants = []plant{
	{
		name: "batch: replies to the wrong callers", promise: "Every call of a shared request gets its own answer.",
		edits: []edit{{wireDir + "batch.go", "own, rest, err = cut(rest)", "own, _, err = cut(rest)"}},
		pkg:   wirePkg, tests: []string{"TestCallsShareARequest", "TestBatchOnNodes"},
	},
	{
		name: "silence: late counts as down", promise: "A node that answers others is not down.",
		edits: []edit{{wireDir + "link.go", "case gaveUp(ctx), errors.Is(err, errLate):", "case gaveUp(ctx), errors.Is(err, errLate) && false:"}},
		pkg:   wirePkg, tests: []string{"TestAnswersAreSignsOfLife"},
	},
}
