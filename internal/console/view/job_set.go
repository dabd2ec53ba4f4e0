package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A ServedSet is a set of jobs that at least one replica serves.
type ServedSet struct {
	ConfigHash string   `json:"config_hash" jsonschema:"Hash of the set of jobs."`
	Replicas   []string `json:"replicas" jsonschema:"Replicas that serve it."`
	Since      *string  `json:"since" jsonschema:"When the first replica began to serve it; null from older releases."`
	Jobs       *int     `json:"jobs" jsonschema:"Number of its jobs; null from older releases."`
}

// ServedSets lists the sets that the replicas serve, newest first.
func ServedSets(replicas []Replica) []ServedSet {
	sets := []ServedSet{}
	for _, r := range replicas {
		if r.ConfigHash == nil {
			continue
		}
		i := slices.IndexFunc(sets, func(s ServedSet) bool { return s.ConfigHash == *r.ConfigHash })
		if i < 0 {
			sets, i = append(sets, ServedSet{ConfigHash: *r.ConfigHash}), len(sets)
		}
		s := &sets[i]
		s.Replicas, s.Jobs = append(s.Replicas, r.ID), cmp.Or(s.Jobs, r.Jobs)
		if s.Since == nil || r.ConfigSince != nil && Time(r.ConfigSince).Before(Time(s.Since)) {
			s.Since = r.ConfigSince
		}
	}
	slices.SortStableFunc(sets, func(x, y ServedSet) int {
		return cmp.Or(Time(y.Since).Compare(Time(x.Since)), strings.Compare(x.ConfigHash, y.ConfigHash))
	})
	return sets
}

// JobSet returns the jobs of a set. If they are not known, the error is ErrNotFound and
// says why.
func (r Reader) JobSet(ctx context.Context, hash string) (scheduler.JobSet, error) {
	set, err := r.storedSet(ctx, hash)
	if errors.Is(err, scheduler.ErrNoJobSet) {
		return scheduler.JobSet{}, fmt.Errorf("the set of jobs %q was %w: it is not published yet, or no replica has served it for a day", hash, ErrNotFound)
	}
	if err == nil && len(set.Jobs) < set.Count {
		err = fmt.Errorf("the set of jobs %q was %w: its %d jobs take more than the 1 MiB that are kept", hash, ErrNotFound, set.Count)
	}
	return set, err
}

// storedSet returns a set as it is stored, without jobs if they are too many.
func (r Reader) storedSet(ctx context.Context, hash string) (scheduler.JobSet, error) {
	if r.JobSets == nil {
		return scheduler.JobSet{}, scheduler.ErrNoJobSet
	}
	packed, err := r.JobSets.JobSet(ctx, hash)
	if err != nil {
		return scheduler.JobSet{}, err
	}
	return scheduler.UnpackJobs(packed)
}

// CompareSets reads two sets of jobs and compares them.
func (r Reader) CompareSets(ctx context.Context, from, to string) (Comparison, error) {
	a, err := r.JobSet(ctx, from)
	if err != nil {
		return Comparison{}, err
	}
	b, err := r.JobSet(ctx, to)
	if err != nil {
		return Comparison{}, err
	}
	return Compare(from, to, a, b), nil
}
