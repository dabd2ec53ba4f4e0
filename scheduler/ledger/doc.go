// Package ledger has the outcome of every tick: an [Entry] with its [Outcome], and the
// [Reason] why it did not run or ended early. A [Store] keeps the entries; an [Archive]
// keeps the logs of runs.
//
// Runs enter the ledger with the claim and its release, which carry the entry as a note
// ([EncodeNote]), so a Store reads what a Locker wrote. Every replica that notices a tick
// without a run records it. The record with the highest rank stays ([Entry.Rank]), and the
// record of a run outranks them all.
package ledger
