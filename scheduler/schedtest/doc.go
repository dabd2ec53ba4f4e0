// Package schedtest holds the conformance kits that every [scheduler.Ledger]
// and every [scheduler.Roster] must pass, and one of each in memory: [Ledger]
// reads what a [locktest.Memory] wrote, [Roster] keeps replicas and jobs in a
// map. With these three a whole cluster of schedulers fits into one test.
package schedtest
