package main

// hookPlants are in what happens around a run: middleware, webhooks, chains and
// the logs that are kept.
var hookPlants = []plant{
	{
		name: "webhook: secret in a log line", promise: "What a webhook's URL and headers hold is in no log line.",
		edits: []edit{{"internal/webhook/deliver.go", "errRetry, hide.Replace(err.Error()))", "errRetry, hide.Replace(\"\")+err.Error())"}},
		pkg:   "./internal/webhook", tests: []string{"TestSecretsAreMasked"},
	},
	{
		name: "webhook: queue without a bound", promise: "Messages that wait are bounded.",
		edits: []edit{{"internal/webhook/sink.go", "max(0, len(s.queue)-s.cfg.Queue)", "0"}},
		pkg:   "./internal/webhook", tests: []string{"TestFullQueueLosesTheOldest"},
	},
}
