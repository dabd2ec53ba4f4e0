// Package fence refuses writers that were paused for longer than their lease.
//
// No lease can stop a process that is frozen between looking at its lease and
// writing. Its fencing token can: tokens of a job only grow, so a sink that
// remembers the largest token it has seen, and refuses a smaller one, takes
// nothing from a former holder once the next one has written. The sink is what
// decides; a token that nobody checks protects nothing.
//
// A [Bearer] has a token for a resource: a jobs.Run, a locking.Claim, or what
// [For] makes of one. A guard admits it or refuses it with a [StaleError]. An
// equal token is admitted: a run writes as often as it likes.
//
// # Check and write are one step
//
// A check that is followed by a separate write is too early: the writer can be
// paused between the two. So pick the guard that sits where the data is:
//
//	sqlfence    one row per resource, check and write in one transaction
//	redisfence  check and write in one script
//	httpfence   the token travels in a header; a middleware refuses stale ones
//	Gate        one writer at a time per resource, within this process
//
// Each package says what is one step there and what is not. Package fencetest
// checks sinks of your own.
//
// # What a guard cannot do
//
// It orders writers per resource: tokens of different jobs have no order, so
// two jobs must not write to one resource. It protects from the moment the next
// holder has written: what a former holder writes before that is old work
// arriving late, in the right order. And it remembers for as long as the sink
// does: restoring a sink from a backup also restores what it has seen.
//
// # Who hears of a refusal
//
// A guard tells [Refused], which calls the observer in the context
// ([WithObserver]). The scheduler puts one into the context of every run, so a
// refusal is logged with both tokens and counted in the ledger of the job,
// whatever the function does with the error.
package fence
