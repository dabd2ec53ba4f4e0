// Package metrics counts and measures what a replica does, for Prometheus: a
// [Metrics] is an observer of the scheduler and of the nodes, and a
// prometheus.Collector.
//
//	m := metrics.New(metrics.Config{Version: "1.0", Jobs: names, Groups: groups})
//	… Observer: m.Observer(), and per group of nodes m.NodesObserver(cell)
//	http.Handle("GET /metrics", m.Handler())
//
// A scrape asks no node: what it says of nodes is what they said last, to claims
// or to the look that replicas take every few seconds anyway.
//
// Labels are bounded. A job has a label of its own as long as there are no more
// than Config.MaxJobs of them, the first by name; the others share [Other]. Reasons
// are classes, of which scheduler.Codes lists all. Series that rates are taken of
// are there from the start, so that the first miss is seen as a rise.
package metrics
