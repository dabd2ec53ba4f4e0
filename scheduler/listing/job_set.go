package listing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler"
)

// A ServedSet is a set of jobs that replicas serve.
type ServedSet struct {
	ConfigHash string   `json:"config_hash"`
	Replicas   []string `json:"replicas"` // that serve it
	// Since is when the first of them began to, and Jobs how many these are: null
	// where older releases do not say so.
	Since *string `json:"since"`
	Jobs  *int    `json:"jobs"`
}

// ServedSets lists the sets of jobs that the replicas serve, the newest first.
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

// JobSet returns what a set of jobs consists of. The error is ErrNotFound, and says
// why, if that is not known.
func (r Reader) JobSet(ctx context.Context, hash string) (scheduler.JobSet, error) {
	var packed []byte
	err := scheduler.ErrNoJobSet
	if r.JobSets != nil {
		packed, err = r.JobSets.JobSet(ctx, hash)
	}
	if errors.Is(err, scheduler.ErrNoJobSet) {
		return scheduler.JobSet{}, fmt.Errorf("what is in set of jobs %q was %w: those who serve it are of an older release, or began a moment ago, or nobody has served it for a day", hash, ErrNotFound)
	}
	if err != nil {
		return scheduler.JobSet{}, err
	}
	set, err := scheduler.UnpackJobs(packed)
	if err == nil && len(set.Jobs) < set.Count {
		err = fmt.Errorf("what is in set of jobs %q was %w: its %d jobs are too much to be kept, of which there may be 1 MiB", hash, ErrNotFound, set.Count)
	}
	return set, err
}

// CompareSets says how one set of jobs becomes another.
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
