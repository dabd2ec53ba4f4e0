// Package ledger says what became of every tick: an [Entry] with its [Outcome], and the
// [Reason] why it did not run or ended early. A [Store] keeps the entries; an [Archive]
// keeps what runs have logged.
//
// Runs enter the ledger with the claim and its release, which carry the entry as a note
// ([EncodeNote]), so a Store reads what a Locker wrote. A tick that did not run is recorded
// by every replica that noticed: of several records the one stays that outranks the others
// ([Entry.Rank]), and the record of a run outranks them all.
package ledger
