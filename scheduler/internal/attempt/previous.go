package attempt

import (
	"context"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ended returns the outcomes of runs that have ended.
func ended() []ledger.Outcome {
	return []ledger.Outcome{
		ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Interrupted, ledger.Cancelled, ledger.Skipped,
	}
}

// previous reads how the job's earlier runs ended.
func (r *Run) previous(ctx context.Context) (jobs.Previous, error) {
	var before jobs.Previous
	last, err := r.lastRun(ctx, ended()...)
	if err != nil || last == nil {
		return before, err
	}
	before.Outcome = string(last.Outcome)
	if last.Outcome != ledger.Succeeded {
		if last, err = r.lastRun(ctx, ledger.Succeeded); err != nil {
			return jobs.Previous{}, err
		}
	}
	if last != nil {
		before.Success, before.Ended = last.Tick, last.Finished
	}
	return before, nil
}

// lastRun returns the last run before this one with such an outcome; nil if there is none.
func (r *Run) lastRun(ctx context.Context, outcomes ...ledger.Outcome) (*ledger.Entry, error) {
	list, err := r.cfg.Ledger.Runs(ctx, ledger.Query{
		Job: r.Job.StoredAs(), Limit: 1, Outcomes: outcomes, Before: r.Tick.Entry(r.Job, r.cfg.Replica).OrderKey(),
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
