package scheduler

import (
	"context"
	"maps"
	"slices"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// storeSet stores the set of jobs that this replica serves, and reports whether that
// worked. One of the replicas that serve it writes it; the others renew it.
func (p *publisher) storeSet(ctx context.Context) bool {
	hash, ok := p.unpublishedSet()
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	kept, err := p.sets.RenewSet(ctx, hash)
	if err == nil && !kept {
		err = p.writeSet(ctx)
	}
	if err != nil {
		p.mu.Lock()
		p.setPending = true
		p.mu.Unlock()
	}
	return err == nil
}

// unpublishedSet returns the hash of the set, and whether it has to be published.
func (p *publisher) unpublishedSet() (hash string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok = p.setPending && p.sets != nil
	p.setPending = false
	return p.hash, ok
}

// writeSet writes the current set.
func (p *publisher) writeSet(ctx context.Context) error {
	p.mu.Lock()
	hash, jobs := p.hash, slices.Collect(maps.Values(p.jobs))
	p.mu.Unlock()
	list := make([]*job.Job, len(jobs))
	for i, j := range jobs {
		list[i] = j.Job
	}
	packed, err := PackJobs(len(list), roster.Texts(list))
	if err != nil {
		return nil //nolint:nilerr // settings that have no written form: to try again would not help
	}
	return p.sets.KeepSet(ctx, hash, packed)
}
