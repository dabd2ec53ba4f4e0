package job

import (
	"slices"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// PausedFor says why a job's ticks are skipped, zero if they are not. It takes the first of:
// its configuration, a pause of the job, of all jobs, of one of its tags.
func (j *Job) PausedFor(pauses []acts.Act) ledger.Reason {
	if j.Paused {
		return ledger.Reason{Code: ledger.CodePaused, Variant: ledger.VariantConfigured}
	}
	for _, covers := range []func(acts.Act) bool{
		func(a acts.Act) bool { return a.Job == j.StoredAs() },
		func(a acts.Act) bool { return a.All },
		func(a acts.Act) bool { return a.Tag != "" && slices.Contains(j.Tags, a.Tag) },
	} {
		if i := slices.IndexFunc(pauses, covers); i >= 0 {
			return pausedBy(pauses[i])
		}
	}
	return ledger.Reason{}
}

// pausedBy is the reason of a tick that is skipped for the pause.
func pausedBy(a acts.Act) ledger.Reason {
	d := ledger.Details{By: a.By, Since: a.At, Text: a.Reason}
	if a.Job == "" {
		d.Of = a.Target()
	}
	return ledger.Reason{Code: ledger.CodePaused, Details: &d}
}
