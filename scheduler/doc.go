// Package scheduler runs jobs on N identical replicas: every tick of a job's
// schedule runs on exactly one of them.
//
// Most programs use package replica, which connects a Scheduler to the nodes. Use this
// package directly to bring your own stores.
//
//	s, err := scheduler.New(scheduler.Config{
//		Replica: "web-1", // unique among the live replicas
//		Stores: scheduler.Stores{
//			Locker: locker, // decides which replica runs a tick
//			Ledger: ledger, // keeps the outcome of every tick
//			Roster: roster, // knows the live replicas
//		},
//	}, []scheduler.Job{report})
//	err = s.Run(ctx) // drains when ctx ends
//
// # What it promises
//
//   - At most one replica runs a tick, if the Locker grants a tick once.
//     A job with [OnCrash] rerun may run again after its replica died, with a
//     larger token.
//   - A function runs under a lease. Its context ends Config.SafetyMargin before
//     the lease does, with a cause that says why.
//   - The [ledger.Store] gets an outcome and a [ledger.Reason] for every tick that a replica
//     noticed, also for those that did not run.
//   - Ticks of a job are claimed in order. Its runs overlap only if its [Overlap]
//     policy allows it.
//
// It does not promise that a tick runs: no replica may be alive, or the Locker
// may not answer. Job.CatchUp runs such ticks later.
//
// # How replicas share the work
//
// Replicas do not talk to each other. The [Roster] tells them which others are
// alive, so they agree on an order for each tick: a replica waits its rank times
// Config.Stagger before it tries. The order saves messages; the Locker alone
// decides. A replica tries within the window of the tick, which ends at the job's
// next tick, and at the latest after Config.Window.
//
// # Changing jobs and asking for runs
//
// [Scheduler.Update] replaces the jobs while they run; a [Source] yields further
// ones. With [acts.Store], people trigger, backfill, pause and cancel jobs, and the
// result is in the ledger. Pauses survive all replicas.
//
// # Stopping
//
// When the context of [Scheduler.Run] ends, the replica drains: it claims no more
// ticks. Runs keep their leases for Config.DrainTimeout, then their contexts end
// with cause jobs.ErrDraining. If functions still have not returned after
// Config.StopTimeout, Run returns a [StuckError] that names them.
// [Scheduler.Abort] ends the wait.
//
// docs/architecture.md explains the engine.
package scheduler
