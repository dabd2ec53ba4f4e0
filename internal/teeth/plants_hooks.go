package main

// hookPlants are in what happens around a run: middleware, webhooks, chains and
// the logs that are kept.
var hookPlants = []plant{
	{
		name: "hooks: middleware inside out", promise: "The first middleware is outermost.",
		edits: []edit{{"jobs/middleware.go", "slices.Backward(middleware)", "slices.All(middleware)"}},
		pkg:   jobs, tests: []string{"TestMiddlewareOrder"},
	},
	{
		name: "hooks: chain id of the attempt", promise: "However often a run is attempted, it asks for its chain once.",
		edits: []edit{{"scheduler/chain.go", "return run + \"+\" + key", "return run + \"+\" + time.Now().String()"}},
		pkg:   scheduler, tests: []string{"TestChainIDIsStable"},
	},
	{
		name: "hooks: chain after the release", promise: "A run that the ledger knows to have ended has asked for its chain.",
		edits: []edit{{"scheduler/run.go", "entry = a.chain(entry)\n\treleased := a.release(entry, a.lease.Release)", "released := a.release(entry, a.lease.Release)\n\tentry = a.chain(entry)"}},
		pkg:   scheduler, tests: []string{"TestChainFollowsTheOutcome"},
	},
	{
		name: "hooks: log without a bound", promise: "Of a run's log no more than its end is kept.",
		edits: []edit{{"scheduler/runlog.go", "over := len(l.text) - MaxLog\n", "over := len(l.text) - 100*MaxLog\n"}},
		pkg:   scheduler, tests: []string{"TestRunLogKeepsTheEnd"},
	},
	{
		name: "hooks: log keeps the beginning", promise: "Of a run's log the end is kept.",
		edits: []edit{{"scheduler/runlog.go", "append(l.text[:0], l.text[over:]...)", "l.text[:MaxLog]"}},
		pkg:   scheduler, tests: []string{"TestRunLogKeepsTheEnd"},
	},
	{
		name: "hooks: newest entry dropped", promise: "Of the newest tick something stays in the ledger, however old it is.",
		edits: []edit{{"scheduler/redisledger/store.lua", "if set == stays then old = old - 1 end", ""}},
		pkg:   "./scheduler/redisledger", tests: []string{"TestArchiveConforms"},
	},
	{
		name: "hooks: lost lease told twice", promise: "A lost lease is told once.",
		edits: []edit{{"scheduler/tell.go", "a.toldLost.Do(func() { a.cfg.Observer.LeaseLost(a.going(), cause) })", "a.cfg.Observer.LeaseLost(a.going(), cause)"}},
		pkg:   scheduler, tests: []string{"TestLostLeasesAreTold"},
	},
	{
		name: "webhook: secret in a log line", promise: "What a webhook's URL and headers hold is in no log line.",
		edits: []edit{{"scheduler/webhook/deliver.go", "errAgain, hide.Replace(err.Error()))", "errAgain, hide.Replace(\"\")+err.Error())"}},
		pkg:   "./scheduler/webhook", tests: []string{"TestSecretsAreMasked"},
	},
	{
		name: "webhook: lost messages not counted", promise: "A message that is lost is counted and logged.",
		edits: []edit{{"scheduler/webhook/sink.go", "	s.stats.Lost++\n", "	_ = why\n"}},
		pkg:   "./scheduler/webhook", tests: []string{"TestFullQueueLosesTheOldest"},
	},
	{
		name: "webhook: queue without a bound", promise: "Messages that wait are bounded.",
		edits: []edit{{"scheduler/webhook/sink.go", "max(0, len(s.queue)-s.cfg.Queue)", "0"}},
		pkg:   "./scheduler/webhook", tests: []string{"TestFullQueueLosesTheOldest"},
	},
	{
		name: "webhook: no flush", promise: "What waits at the end of a drain is tried once more.",
		edits: []edit{{"scheduler/webhook/deliver.go", "s.settle(m, s.post(last, m))", "s.settle(m, errors.Join(errAgain, last.Err()))"}},
		pkg:   "./scheduler/webhook", tests: []string{"TestFlush"},
	},
	{
		name: "webhook: refusal tried again", promise: "What another try cannot mend is not tried again.",
		edits: []edit{{"scheduler/webhook/deliver.go", "return fmt.Errorf(\"refused: status %d\", code)", "return fmt.Errorf(\"%w: status %d\", errAgain, code)"}},
		pkg:   "./scheduler/webhook", tests: []string{"TestTries"},
	},
	{
		name: "webhook: every replica tells", promise: "A tick that nobody ran is told by one replica.",
		edits: []edit{{"scheduler/recorder.go", "if first {", "if first || true {"}},
		pkg:   scheduler, tests: []string{"TestSettledIsToldOnce"},
	},
}
