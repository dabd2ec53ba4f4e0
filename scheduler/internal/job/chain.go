package job

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A run triggers the jobs that its own job names for its outcome, before its lease is
// released. So when the ledger knows the outcome, the request exists, or Reason says why
// not. The request's id is made of the run's id and the job's key: asking again has no
// effect.

// Follows returns the keys of the jobs to run after a run with this outcome. A run that was
// cancelled, skipped or interrupted, or lost its lease, has neither succeeded nor failed.
func (j *Job) Follows(o ledger.Outcome) []string {
	switch o {
	case ledger.Succeeded:
		return j.OnSuccess
	case ledger.Failed, ledger.TimedOut:
		return j.OnFailure
	}
	return nil
}

// ChainID is the id of a run's request for the job with the key. Act.Ready accepts its form for such
// requests alone, so nobody can use up the id. The function finish_run on PostgreSQL makes the same.
func ChainID(run, key string) string {
	sum := sha256.Sum256([]byte(run + "+" + key))
	return "+" + hex.EncodeToString(sum[:16])
}

// validateChains checks that chains lead to jobs of the list, and end.
func validateChains(list []Definition) error {
	var errs []error
	chains := make(map[string][]string, len(list))
	for _, j := range list {
		chains[j.storedAs()] = slices.Concat(j.OnSuccess, j.OnFailure)
	}
	for _, j := range list {
		for _, key := range chains[j.storedAs()] {
			if _, ok := chains[key]; !ok {
				errs = append(errs, fmt.Errorf("scheduler: job %q triggers %q, which is not a job: write the key of a job", j.Name, key))
			}
		}
	}
	if circle := ChainCircle(chains); circle != nil {
		errs = append(errs, fmt.Errorf("scheduler: jobs trigger each other without end: %s", strings.Join(circle, " → ")))
	}
	return errors.Join(errs...)
}

// ChainCircle returns jobs that trigger each other in a circle, the first one again at the
// end, or nil if all chains end. chains lists what each job triggers.
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
