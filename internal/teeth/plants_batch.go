package main

// batchPlants are in how calls to a node share requests.
var batchPlants = []plant{
	{
		name: "batch: replies to the wrong callers", promise: "Every call of a shared request gets its own answer.",
		edits: []edit{{nodesDir + "batch.go", "value, rest, err = cut(list[:head], rest)", "value, _, err = cut(list[:head], rest)"}},
		pkg:   nodesPkg, tests: []string{"TestCallsShareARequest", "TestBatchOnNodes"},
	},
	{
		name: "batch: keys of another call", promise: "Every call of a shared request works on its own keys.",
		edits: []edit{{nodesDir + "many.lua", "own.keys_before + keys,", "own.keys_before,"}},
		pkg:   nodesPkg, tests: []string{"TestOwnAnswersAtOnce"},
	},
	{
		name: "batch: one failure for all", promise: "A call that fails on the node leaves the others of its request their answers.",
		edits: []edit{{nodesDir + "many.lua", "local ok, reply = pcall(rule)", "local ok, reply = true, rule()"}},
		pkg:   nodesPkg, tests: []string{"TestBatchOnNodes"},
	},
	{
		name: "batch: queued call counts as sent", promise: "A call that was never sent leaves nothing to clean up.",
		edits: []edit{{nodesDir + "round.go", "if q.sent {", "if true {"}},
		pkg:   nodesPkg, tests: []string{"TestDeadlineInTheQueue"},
	},
	{
		name: "batch: sent after its caller has left", promise: "What was reported as never sent is not sent later.",
		edits: []edit{{nodesDir + "lane.go", "case q.left:\n", "case false:\n"}},
		pkg:   nodesPkg, tests: []string{"TestDeadlineInTheQueue"},
	},
	{
		name: "batch: sent with no time left", promise: "Callers who queued for too long learn nothing of the node.",
		edits: []edit{{nodesDir + "lane.go", "case now.Sub(q.since) > l.patience(q):", "case now.IsZero():"}},
		pkg:   nodesPkg, tests: []string{"TestLongWaitIsNotSent"},
	},
	{
		name: "batch: a timeout for each in the queue", promise: "A frozen node costs those in the queue no timeout each.",
		edits: []edit{{nodesDir + "lane.go", "} else if silence != nil {", "} else if silence != nil && l == nil {"}},
		pkg:   nodesPkg, tests: []string{"TestFrozenNodeFailsTheQueue"},
	},
	{
		name: "batch: clients mixed", promise: "A request speaks for one list and one epoch.",
		edits: []edit{{nodesDir + "lane.go", "len(batch) > 0 && !sameHeader(batch[0], q)", "false"}},
		pkg:   nodesPkg, tests: []string{"TestHeadersDoNotMix"},
	},
	{
		name: "batch: nobody waits for busy nodes", promise: "Calls that all nodes are slow with wait here instead of failing.",
		edits: []edit{{nodesDir + "lane.go", "if q.round.enough() {", "if true {"}},
		pkg:   nodesPkg, tests: []string{"TestBusyNodesLoseNothing"},
	},
	{
		name: "batch: everybody waits for a slow node", promise: "A slow node does not slow down calls that a quorum has answered.",
		edits: []edit{{nodesDir + "lane.go", "if q.round.enough() {", "if false {"}},
		pkg:   nodesPkg, tests: []string{"TestOneSlowNodeIsNotWaitedFor"},
	},
	{
		name: "batch: waiting counts as the node's time", promise: "A reply tells when the request was sent, not when it began to wait.",
		edits: []edit{{nodesDir + "round.go", "r.Sent, r.Received = q.asked, q.heard", "r.Received = q.heard"}},
		pkg:   nodesPkg, tests: []string{"TestBusyNodesLoseNothing"},
	},
	{
		name: "silence: one late answer", promise: "A node that answers others is not down.",
		edits: []edit{{nodesDir + "silence.go", "case w.heard.After(start) ||", "case"}},
		pkg:   nodesPkg, tests: []string{"TestAnswersAreSignsOfLife"},
	},
	{
		name: "silence: late counts as down", promise: "A node that answers others is not down.",
		edits: []edit{{nodesDir + "node.go", "case gaveUp(ctx), errors.Is(r.Err, errLate):", "case gaveUp(ctx):"}},
		pkg:   nodesPkg, tests: []string{"TestAnswersAreSignsOfLife"},
	},
	{
		name: "silence: this process was asleep", promise: "Nodes are not taken for down because this process is busy.",
		edits: []edit{{nodesDir + "silence.go", " || took > w.timeout+w.timeout/4:", ":"}},
		pkg:   nodesPkg, tests: []string{"TestOwnDelayIsNotSilence"},
	},
}
