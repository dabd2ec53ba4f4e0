// Package metrics counts and measures what a replica does, for Prometheus: a
// [Metrics] is an observer of the scheduler and of the nodes, and a
// prometheus.Collector.
//
//	m := new(metrics.Metrics)
//	… replica.Config{Metrics: m}, which serves it where it serves probes
//	prometheus.MustRegister(m) // or in a registry of your own, after replica.New
//
// A scrape asks no node: what it says of nodes is what they said last, to claims
// or to the look that replicas take every few seconds anyway.
//
// Labels are bounded. A job has a label of its own as long as there are no more
// than Config.MaxJobs of them, the first by name; the others share [Other]. Reasons
// are classes, of which ledger.Codes lists all. Series that rates are taken of
// are there from the start, so that the first miss is seen as a rise.
package metrics
