package catchup

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Scan finds the undecided ticks of a span.
type Scan struct {
	Span
	Owner     any    // whose past it is; only the caller knows the type
	Urgent    bool   // ticks of the job wait for it
	OnlyRerun bool   // it only searches for a run that was interrupted
	order     uint64 // spreads jobs in a fixed random order

	Found *Finding // the result of the last try; most scans wait, without one
}

// A Finding is the result of a scan.
type Finding struct {
	Undecided
	Err error
}

// find finds the ticks to be tried again; in an urgent scan, only those that can be.
func (s *Scan) find(ctx context.Context, ledger ledger.Store, now time.Time, window time.Duration) {
	var f Finding
	if s.Accounts() {
		f.Undecided, f.Err = s.findUndecided(ctx, ledger, window)
	}
	if s.Urgent && f.Err == nil {
		f.Rerun, f.Err = s.findRerun(ctx, ledger, now, window)
	}
	s.Found = &f
}

// Accounts reports whether the scan searches for all ticks that nobody ran.
func (s *Scan) Accounts() bool { return !s.OnlyRerun && (!s.Urgent || s.Job.CatchesUp()) }

// repeats reports whether to repeat a failed scan: the nodes may come back, and ticks wait
// no longer than catch-up allows.
func (s *Scan) repeats(now time.Time) bool {
	return roster.Passing(s.Found.Err) && (!s.Urgent || now.Before(s.Before.Add(s.Job.CatchUp.Window)))
}
