package main

// batchPlants are in how calls to a node share requests.
var batchPlants = []plant{
	{
		name: "batch: replies to the wrong callers", promise: "Every call of a shared request gets its own answer.",
		edits: []edit{{nodesDir + "batch.go", "q.answer(list[i], nil)", "q.answer(list[len(list)-1-i], nil)"}},
		pkg:   nodesPkg, tests: []string{"TestCallsShareARequest", "TestBatchOnNodes"},
	},
	{
		name: "batch: keys of another call", promise: "Every call of a shared request works on its own keys.",
		edits: []edit{{nodesDir + "many.lua", "own.keys_before + keys,", "own.keys_before,"}},
		pkg:   nodesPkg, tests: []string{"TestOwnAnswersAtOnce"},
	},
	{
		name: "batch: one failure for all", promise: "A call that fails on the node leaves the others of its request their answers.",
		edits: []edit{{nodesDir + "many.lua", "local ok, reply = pcall(run)", "local ok, reply = true, run()"}},
		pkg:   nodesPkg, tests: []string{"TestBatchOnNodes"},
	},
	{
		name: "batch: queued call counts as sent", promise: "A call that was never sent leaves nothing to clean up.",
		edits: []edit{{nodesDir + "lane.go", "if q.sent {", "if true {"}},
		pkg:   nodesPkg, tests: []string{"TestDeadlineInTheQueue"},
	},
	{
		name: "batch: sent after its caller has left", promise: "What was reported as never sent is not sent later.",
		edits: []edit{{nodesDir + "lane.go", "case q.left:\n", "case false:\n"}},
		pkg:   nodesPkg, tests: []string{"TestDeadlineInTheQueue"},
	},
	{
		name: "batch: sent with no time left", promise: "Callers who queued for too long learn nothing of the node.",
		edits: []edit{{nodesDir + "lane.go", "case time.Since(q.since) > l.wire.timeout/2:", "case false:"}},
		pkg:   nodesPkg, tests: []string{"TestLongWaitIsNotSent"},
	},
	{
		name: "batch: a timeout for each in the queue", promise: "A frozen node costs those in the queue no timeout each.",
		edits: []edit{{nodesDir + "lane.go", "err != nil && !answered && time.Since(start)", "false && !answered && time.Since(start)"}},
		pkg:   nodesPkg, tests: []string{"TestFrozenNodeFailsTheQueue"},
	},
	{
		name: "batch: clients mixed", promise: "A request speaks for one list and one epoch.",
		edits: []edit{{nodesDir + "lane.go", "len(batch) > 0 && !sameHeader(batch[0], q)", "false"}},
		pkg:   nodesPkg, tests: []string{"TestHeadersDoNotMix"},
	},
}
