package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A run that has ended triggers the jobs that its own names for that end, before
// its lease is released: of a run that the ledger knows to have ended so, the
// chain has been asked for, or Reason says why not. The id of the request is
// made of the run's, which all attempts share, and of the job's: asking again
// asks for nothing new.

// follows are the keys of the jobs that are to run after one that ended so. A
// run that was cancelled, skipped or interrupted, or lost its lease, has neither
// succeeded nor failed.
func (j *Job) follows(o ledger.Outcome) []string {
	switch o {
	case ledger.Succeeded:
		return j.OnSuccess
	case ledger.Failed, ledger.TimedOut:
		return j.OnFailure
	}
	return nil
}

// ChainID is the id of the request that a run makes for the job with the key.
func ChainID(run, key string) string { return run + "+" + key }

// errNoActs: there is nobody to ask.
var errNoActs = errors.New("this replica has no Config.Acts")

// chainPause is the time between two tries to ask for a chain.
const chainPause = 250 * time.Millisecond

// chain asks for what follows the run, and adds to its Reason what could not be
// asked for.
func (x *execution) chain(e ledger.Entry) ledger.Entry {
	keys := x.job.follows(e.Outcome)
	if len(keys) == 0 {
		return e
	}
	// The other half of what is left of the lease is for its release.
	ctx, cancel := context.WithTimeout(x.stops.releases, time.Until(x.lease.Deadline())/2)
	defer cancel()
	for _, key := range keys {
		err := askFor(ctx, x.cfg.Acts, acts.Act{
			ID: ChainID(e.ID(), key), Kind: acts.Trigger, Job: key, Trigger: ledger.ByChain, Parent: e.ID(),
			By: x.job.Name, Reason: fmt.Sprintf("its run %s", strings.ReplaceAll(string(e.Outcome), "_", " ")),
		})
		x.tellOf(e, Event{Kind: EventChained, Triggers: key, Err: err})
		if err != nil {
			e.Reason = e.Reason.And(ledger.Reason{Code: ledger.CodeNotTriggered, Details: &ledger.Details{Of: key, Text: err.Error()}})
		}
	}
	return e
}

// askFor makes the act known, again and again while there is no quorum.
func askFor(ctx context.Context, store acts.Store, act acts.Act) error {
	if store == nil {
		return errNoActs
	}
	for {
		_, err := store.Do(ctx, act)
		if _, asked := errors.AsType[*acts.ReusedIDError](err); asked {
			return nil // by an earlier attempt, which ended otherwise: nobody else makes this ID
		}
		if !errors.Is(err, locking.ErrNoQuorum) || !sleep(ctx, chainPause) {
			return err
		}
	}
}

// validateChains makes sure that chains lead to jobs of the list, and end.
func validateChains(list []Job) error {
	var errs []error
	chains := make(map[string][]string, len(list))
	for _, j := range list {
		chains[j.key()] = slices.Concat(j.OnSuccess, j.OnFailure)
	}
	for _, j := range list {
		for _, key := range chains[j.key()] {
			if _, ok := chains[key]; !ok {
				errs = append(errs, fmt.Errorf("scheduler: job %q triggers %q, which is no job: write the key of one", j.Name, key))
			}
		}
	}
	if circle := ChainCircle(chains); circle != nil {
		errs = append(errs, fmt.Errorf("scheduler: jobs trigger each other without end: %s", strings.Join(circle, " → ")))
	}
	return errors.Join(errs...)
}

// ChainCircle returns jobs of which each triggers the next and the last is the
// first again, or nil if all chains end. chains lists what each job triggers.
func ChainCircle(chains map[string][]string) []string {
	done := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		last := path[len(path)-1]
		if i := slices.Index(path, last); i < len(path)-1 {
			return path[i:]
		}
		if done[last] {
			return nil
		}
		for _, next := range chains[last] {
			if circle := walk(append(slices.Clip(path), next)); circle != nil {
				return circle
			}
		}
		done[last] = true
		return nil
	}
	for _, job := range slices.Sorted(maps.Keys(chains)) {
		if circle := walk([]string{job}); circle != nil {
			return circle
		}
	}
	return nil
}
