// Package schedtest tests jobs and schedules in virtual time, without Redis:
// days of a configuration pass in a second of go test.
//
//	setup := replicatest.Load(t, "config.yaml", registry)
//	schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
//		c.Forward(72 * time.Hour)
//		c.Expect("nightly-report",
//			"2026-03-28T01:00:00Z succeeded",
//			"2026-03-29T00:00:00Z succeeded", // summer time
//			"2026-03-30T00:00:00Z succeeded",
//		)
//	})
//
// # A cluster in a test
//
// [Run] makes a [Cluster] of replicas, three unless [Setup] says otherwise, in a bubble of
// testing/synctest: real schedulers, with the decisions of nodes and their ledger in
// memory, or on the stores of [Setup.Stores]. Time stops while anything works, and moves by [Cluster.Forward] and
// [Cluster.Await]. Functions of jobs run as in production. Functions that leave the process
// (exec, http) must be replaced by [Cluster.Replace] or [Setup.Instead], or days of work
// are really done. [Calls] records the calls of a function with its params.
//
// Faults are method calls: [Replica.Kill], [Replica.Freeze], [Replica.Stop],
// [Cluster.StopNodes], [Cluster.LoseLease]. [Cluster.Update] changes the jobs while they
// run, as a roll-out does; [Cluster.Trigger], [Cluster.Pause], [Cluster.Resume] and
// [Cluster.Do] are requests of people.
//
// The outcomes are in the ledger: [Cluster.Expect] compares it with lines of text,
// [Cluster.Ticks] and [Cluster.Runs] return it. A test that fails prints it.
//
// # Conformance kits
//
// [RunLedger] and [RunRoster] check what every [ledger.Store] and
// [scheduler.Roster] must do. [Ledger] and [Roster] are one of each in memory.
package schedtest
