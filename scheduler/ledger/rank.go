package ledger

// Rank orders the replicas' records of one tick without a run: the highest stays. A
// policy's decision goes before a failure to run, and a drained replica knows least about
// the others. With equal ranks the greater note in bytes stays, so all nodes agree.
func (e Entry) Rank() byte {
	switch {
	case e.Ran():
		return 'r'
	case e.Outcome == Skipped && (e.Reason.Code == CodeRemoved || e.Reason.Code == CodeRescheduled):
		return 'm' // in this replica's configuration
	case e.Outcome == Skipped:
		return 'p'
	}
	switch e.Reason.Code {
	case CodeCatchUp:
		if e.Reason.Has(CodeUnknown) || e.Reason.Has(CodeHistoryLost) || e.Reason.Has(CodeHistoryTrimmed) {
			return 'j' // another replica may know the reason
		}
		return 'k'
	case CodeUnknown, CodeHistoryLost, CodeHistoryTrimmed:
		return 'c'
	case CodeDrained:
		return 'a'
	}
	return 'g'
}
