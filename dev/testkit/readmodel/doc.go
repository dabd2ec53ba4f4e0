// Package readmodel compares what pages and listings say about each job with the whole ledger and
// with the sink of its runs.
//
// The read model reads a bounded part of the ledger: the newest entries, and for the rest stretches
// that it remembers between views. The checker reads every entry of a job, sorts them once, and counts
// them once. It shares no code with the read model. [Check] returns each figure that is not true as a
// [Lie]. "At least", "since" and "not known" are true answers, as long as what they state is so.
//
// A campaign uses a [Session]. It asks the read model, reads the ledger, asks again, and compares the
// jobs about which both answers are the same: the ledger between them cannot have been another one.
package readmodel
