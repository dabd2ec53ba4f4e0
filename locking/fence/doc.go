// Package fence refuses writers that were paused for longer than their lease.
//
// No lease can stop a process that freezes between checking its lease and writing. Its
// fencing token can: tokens of a job only grow, so a sink that remembers the largest
// token refuses a former holder once the next one has written. Only a sink that checks
// tokens is protected.
//
// A [Bearer] has a token for a resource: a jobs.Run, a locking.Claim, or the result of
// [For]. A guard admits it, or refuses it with a [StaleError]. It admits an equal
// token, so a run may write as often as it likes.
//
// # Check and write must be one step
//
// A writer can be paused between a check and a separate write. So choose the guard that
// sits where the data is:
//
//	sqlfence    one row per resource, check and write in one transaction
//	redisfence  check and write in one script
//	httpfence   the token travels in a header; a middleware refuses stale ones
//	Gate        one writer at a time per resource, within this process
//
// Each package documents what is one step there and what is not. Package fencetest
// tests your own sinks.
//
// # What a guard cannot do
//
//   - It orders the writers of one job only. Tokens of different jobs have no order, so
//     two jobs must not write to one resource. Jobs of one name in two namespaces are two
//     jobs: give each namespace a table of its own, or its resources other names ([For]).
//   - It protects from the moment when the next holder has written. A former holder's
//     write before that is late, but in the right order.
//   - It remembers for as long as the sink does. Restoring a sink from a backup also
//     restores its tokens.
//
// # Observing refusals
//
// A guard calls [Refused], which calls the observer in the context ([WithObserver]).
// The scheduler adds an observer to the context of every run. It logs each refusal with
// both tokens and counts it in the job's ledger, whatever the function does with the
// error.
package fence
