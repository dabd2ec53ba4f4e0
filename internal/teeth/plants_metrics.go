package main

const (
	metrics = "./scheduler/metrics"
	traces  = "./scheduler/traces"
)

// metricsPlants are in what the scheduler and the nodes tell observers, and in what
// metrics, traces and alerts make of it.
var metricsPlants = []plant{
	{
		name: "reasons: another's code", promise: "Each reason that the scheduler gives has its code.",
		edits: []edit{{"scheduler/verdict.go", "return missedFor(ledger.CodeSplit)", "return missedFor(ledger.CodeNoQuorum)"}},
		pkg:   scheduler, tests: []string{"TestCodesOfRefusals"},
	},
	{
		name: "metrics: every replica counts", promise: "A tick that nobody ran is counted once in the cluster.",
		edits: []edit{{"scheduler/metrics/ticks.go", "case scheduler.EventSettled:", "case scheduler.EventSettled, scheduler.EventDecided:"}},
		pkg:   metrics, tests: []string{"TestWhatEventsCount"},
	},
	{
		name: "alerts: metric renamed", promise: "Alerts, dashboard and page name metrics that there are.",
		edits: []edit{{"scheduler/metrics/nodes.go", "desc(\"quorum_margin\"", "desc(\"quorum_spare\""}},
		pkg:   metrics, tests: []string{"TestMetricsAreNamedAsTheyAre"},
	},
}
