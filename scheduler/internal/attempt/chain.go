package attempt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// errNoActs: there is no store for the request.
var errNoActs = errors.New("this replica has no Config.Acts")

// endPause is the time between two tries to store what follows the end of a run.
const endPause = 250 * time.Millisecond

// chain requests the jobs that follow the run, unless a transaction of the function has. It adds
// failures to the entry's Reason.
func (r *Run) chain(e ledger.Entry, requested bool) ledger.Entry {
	keys := r.Job.Follows(e.Outcome)
	if len(keys) == 0 {
		return e
	}
	// The other half of the remaining lease is for its release.
	ctx, cancel := context.WithTimeout(r.stops.Releases, time.Until(r.lease.Deadline())/2)
	defer cancel()
	for _, key := range keys {
		var err error
		if !requested {
			err = storeAct(ctx, r.cfg.Acts, r.follower(e, key))
		}
		r.notifyOf(e, event.Event{Kind: event.Chained, Triggers: key, Err: err})
		if err != nil {
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeNotTriggered, Details: &ledger.Details{Of: key, Text: err.Error()}})
		}
	}
	return e
}

// follower is the request for the job with the key, which follows the run.
func (r *Run) follower(e ledger.Entry, key string) acts.Act {
	return acts.Act{
		ID: job.ChainID(e.ID(), key), Kind: acts.Trigger, Job: key, Trigger: ledger.ByChain, Parent: e.ID(),
		By: r.Job.Name, Reason: fmt.Sprintf("its run %s", strings.ReplaceAll(string(e.Outcome), "_", " ")),
	}
}

// storeAct stores the act, and tries again while the store does not answer, or refuses.
func storeAct(ctx context.Context, store acts.Store, act acts.Act) error {
	if store == nil {
		return errNoActs
	}
	for {
		_, err := store.Do(ctx, act)
		if _, asked := errors.AsType[*acts.ReusedIDError](err); asked {
			return nil // by an earlier attempt with another end: nothing else makes this ID
		}
		if !roster.Passing(err) || !retry.After(ctx, endPause) {
			return err
		}
	}
}
