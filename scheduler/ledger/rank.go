package ledger

import "bytes"

// Rank orders what replicas record of one tick that did not run: the highest stays,
// whoever came first. A policy's decision goes before a failure to run, and a replica
// that drained knows least of what the others did.
func (e Entry) Rank() byte {
	switch {
	case e.Outcome.Ran():
		return 'r'
	case e.Outcome == Skipped && (e.Reason.Code == CodeRemoved || e.Reason.Code == CodeRescheduled):
		return 'm' // in this replica's configuration
	case e.Outcome == Skipped:
		return 'p'
	}
	switch e.Reason.Code {
	case CodeCatchUp:
		if e.Reason.Has(CodeUnknown) || e.Reason.Has(CodeHistoryLost) || e.Reason.Has(CodeHistoryTrimmed) {
			return 'j' // another replica may know why nobody ran it before
		}
		return 'k'
	case CodeUnknown, CodeHistoryLost, CodeHistoryTrimmed:
		return 'c'
	case CodeDrained:
		return 'a'
	}
	return 'g'
}

// Outranks tells whether e stays where both are recorded of one tick that did not run.
// Of equal rank the note with the greater bytes does, so that all nodes agree.
func (e Entry) Outranks(other Entry) bool {
	if x, y := e.Rank(), other.Rank(); x != y {
		return x > y
	}
	return bytes.Compare(EncodeNote(e), EncodeNote(other)) > 0
}
