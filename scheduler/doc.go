// Package scheduler runs jobs on N identical replicas so that every tick runs
// on one of them.
//
// A [Scheduler] is one replica. It knows when its jobs are due ([Schedule]),
// claims their ticks from a locking.Locker, runs what it wins under the lease,
// and sees to it that a [Ledger] has an outcome for every tick, also for those
// that did not run. Replicas do not talk to each other: a [Roster] tells them
// who else lives, but only to agree on who tries first.
//
// # The life of a tick
//
//	    the wall clock reads its nominal time
//	    plus the job's jitter                    (tick.go)
//	                  |
//	    already too late? ------------- yes --> missed: asleep
//	                  | no
//	    has this replica the job's labels? no --> another's; missed: placement
//	                  | yes                      (placement.go) if there is none
//	    wait rank x Stagger                      (stagger.go)
//	                  |
//	+-->  own earlier run still going on?        (overlap.go)
//	|       wait for its end, at most until
//	|       the window closes ---------- closed --> skipped: overlap
//	|     a place free on this replica?          (places.go, admission.go)
//	|       wait for one as long ------- closed --> another's, or skipped: limit
//	|     a turn: MaxClaims tries at once, or    (turns.go)
//	|       fewer while nodes do not answer
//	|       wait for one by rank ------- closed --> missed: too busy
//	|     look at one node, unless first in rank  (look.go)
//	|       and this is its first try -- claimed --> another replica's
//	+------ a hint that somebody is at it, or
//	|       silence: pause, a few times
//	|                 |
//	|     try to claim                           (claim.go)
//	|                 |
//	|      won        +-- DONE, CLAIMED ---------> another replica's
//	|       |         +-- LATER, ABSTAIN, CONFIG -> missed: superseded,
//	|       |         |                             unvouched, refused
//	|       |         +-- anything else: may pass
//	|       |                  |
//	|       |         window still open? -- no --> missed or skipped, for
//	|       |                  | yes               the last refusal
//	+-------|--- random pause -+
//	        |
//	    a slot of the job's group free?          (slots.go)
//	        | wait for one as long; the claim
//	        |       is kept -------------- closed --> given back; skipped: limit
//	        |
//	    the function runs; the lease is extended (run.go)
//	        |         its context ends by the drain, its timeout, or
//	        |         SafetyMargin before the lease
//	    it returns; a failure may be followed by a pause and
//	        |       another call under the same lease (retry.go)
//	        |
//	    release: outcome and record to the ledger, lock free
//
// The window of a tick opens at its start, the nominal time plus jitter, and
// closes when the job's next tick starts, at the latest Config.Window later. In
// it the replica tries again whatever may pass: a divided vote, nodes that do
// not answer, the lease of an earlier run, of a live replica or of a dead one. A
// try that began in the window counts also if it is won after it. Ticks of a
// job are claimed in order, one at a time; its runs never overlap on a replica,
// unless the overlap policy is allow.
//
// With the overlap policies queue and cancel_previous an earlier run keeps the
// window open until the next tick comes. With the latter it is asked to stop: by
// its own replica, which sees the tick come as all others do, so that no message
// is needed.
//
// A tick costs the cluster one claim, and a look for each further replica: the
// first in rank claims it in one round of messages, the others find it done. When
// ten thousand come at one instant, each replica claims those first for which it
// is first in rank.
//
// What nodes do not answer must not make replicas ask for more. Who heard nothing
// looks at another node before it competes again, and each silence halves the tries
// that a replica has under way, so that nodes which were asked for more than they
// can do get the time to do it: an overload ends when what caused it does.
//
// A tick that nobody claims is recorded by every replica that noticed, the
// record that outranks the others stays (Entry.Rank), and the record of a run goes
// before all of them. So a replica says what it knows without asking whether it is
// alone to know it.
//
// # One goroutine decides
//
// The engine's state belongs to the goroutine of [Scheduler.Run]: a heap of the
// jobs by next tick, and per job its lanes and the runs that go on. A lane
// decides the ticks of one stream in order: one is being claimed, the others
// queue. The schedule is a stream, what people ask for others. Each tick that
// is being decided gets a goroutine, its attempt, that does the waiting and
// tells the loop of its progress: it asks before each try to claim whether
// something on this replica is in the way, unless the loop knew when it began that
// nothing is. What it reports without asking waits in an inbox, which the loop
// empties before it does anything else. Besides these there are the recorder,
// which brings outcomes to the ledger as soon as a quorum takes them, and the
// heartbeat.
//
// An attempt keeps the definition of its job that it began with. The nodes know
// a job by its key, everybody else by its name.
//
// A replica may have 100,000 jobs. A Job, once it has its key and its hash, never
// changes and is shared by all who look at it; of its next tick only that is kept
// which does not follow from the schedule (tick.go), and those that come at one
// instant stand in the heap as one (due.go). What an ordinary fire does not need is
// not made: contexts (lazy.go), loggers, timers (watch.go), what keeps a lease
// (keep.go). The goroutine of an attempt, in which the function runs, too, goes on
// with the next one, and another goroutine only takes that if it has to wait for
// something (crew.go). Tests bound the bytes of the one and the allocations
// of the other (cost_test.go).
//
// The loop goes by the wall clock, read anew at least every 15 seconds, since
// timers stand still while a machine is suspended. It compares the two clocks
// and reports jumps. After a jump back ticks come again: the nodes refuse them
// as done.
//
// # What nobody could run
//
// Ticks that came while no quorum answered, while this replica slept, or while no
// replica ran, are caught up if the job has it (catchup.go): within
// CatchUp.Window a tick stays at the head of its lane and is tried again; later
// ones wait behind it, since none before a tick that was claimed ever can be.
// Where a replica may have missed something, at its start and after a sleep, it
// reads the ledger before the job's next tick is claimed (scan.go, past.go), and
// accounts for what is not caught up. Reading only says what to try: the claim
// decides. Of a job without catch-up one replica reads the past, later and slowly
// (scan_later.go).
//
// A run whose replica died stays interrupted, or is run again (rerun.go): the
// replicas that lost the tick watch the lease of the one that won, and claim it
// anew when that has ended. Until then later ticks wait by their overlap policy. Who
// gave the tick up before it heard of that claim asks the ledger before it claims a
// later one (lookback.go).
//
// # What people ask for
//
// [Acts] keeps triggers, backfills, cancels and pauses. The desk, a goroutine of
// its own, reads them every second and hands them to the loop (requests.go),
// which offers ticks to the lanes of their streams, ends runs, and skips the
// scheduled ticks of what is paused (pause.go). No tick is claimed before the
// desk has read once, or has tried for ten seconds, so that a pause outlives all
// replicas. What became of a request is in the ledger, whoever did it; the desk
// reads it there and notes it in the audit log (settle.go). A request that nobody
// could begin expires: then the replicas record its ticks as missed.
//
// # The drain
//
// When the context of Run ends, no tick is claimed any more; a claim under way
// is given up, or run if it is won all the same. Runs go on under their leases
// for Config.DrainTimeout, then their contexts end with cause jobs.ErrDraining.
// Functions that still have not returned after Config.StopTimeout are named in a
// [StuckError]; their leases end by themselves when the process does.
// [Scheduler.Abort] skips the waiting.
package scheduler
