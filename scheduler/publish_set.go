package scheduler

import (
	"context"
	"maps"
	"slices"
)

// keepSet sees to it that others can read what the set consists of that this replica
// serves, and tells whether that worked. One of those that serve it writes it down,
// the others say that it is still served.
func (p *publisher) keepSet(ctx context.Context) bool {
	hash, ok := p.tellSet()
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
		p.untold = true
		p.mu.Unlock()
	}
	return err == nil
}

// tellSet returns the hash of the set, and whether it is to be told.
func (p *publisher) tellSet() (hash string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ok = p.untold && p.sets != nil
	p.untold = false
	return p.hash, ok
}

// writeSet writes down the set that is served now.
func (p *publisher) writeSet(ctx context.Context) error {
	p.mu.Lock()
	hash, jobs := p.hash, slices.Collect(maps.Values(p.jobs))
	p.mu.Unlock()
	list := make([]*Job, len(jobs))
	for i, j := range jobs {
		list[i] = j.Job
	}
	packed, err := PackJobs(len(list), texts(list))
	if err != nil {
		return nil //nolint:nilerr // settings that have no written form: to try again would not help
	}
	return p.sets.KeepSet(ctx, hash, packed)
}
