package schedtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Roster is a [roster.Roster] in memory, shared by the replicas of one
// process. The zero value is ready to use.
type Roster struct {
	mu       sync.Mutex
	replicas map[string]roster.Replica
	left     []roster.Replica
	jobs     map[version]published
	sets     map[string][]byte
}

// published is a version of a job, and when it was last published.
type published struct {
	job roster.JobInfo
	at  time.Time
}

// Beat implements [roster.Roster].
func (r *Roster) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	if r.replicas == nil {
		r.replicas = map[string]roster.Replica{}
	}
	self.Seen = time.Now()
	r.replicas[self.Process()] = self
	r.mu.Unlock()
	return r.Replicas(ctx)
}

// Leave implements [roster.Roster].
func (r *Roster) Leave(ctx context.Context, self roster.Replica) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	delete(r.replicas, self.Process())
	self.Seen = time.Now()
	r.left = roster.Left(append(r.left, self))
	return nil
}

// Left lists the replicas that left.
func (r *Roster) Left(ctx context.Context) ([]roster.Replica, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = slices.DeleteFunc(r.left, func(have roster.Replica) bool { return time.Since(have.Seen) >= roster.RememberLeft })
	return slices.Clone(r.left), ctx.Err()
}

// Replicas implements [roster.Roster].
func (r *Roster) Replicas(ctx context.Context) ([]roster.Replica, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	live := maps.Clone(r.replicas)
	maps.DeleteFunc(live, func(_ string, have roster.Replica) bool {
		return time.Since(have.Seen) >= roster.SeenLately
	})
	return roster.Successors(slices.Collect(maps.Values(live))), nil
}

// Remembered lists the replicas seen lately, and the lost ones.
func (r *Roster) Remembered(ctx context.Context) ([]roster.Replica, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	all := maps.Clone(r.replicas)
	for id, have := range all {
		switch silent := time.Since(have.Seen); {
		case silent >= roster.RememberLost:
			delete(all, id)
		case silent >= roster.SeenLately:
			all[id] = have.Lost()
		}
	}
	return roster.Successors(slices.Collect(maps.Values(all))), nil
}

// A version of a job is one name and hash.
type version struct{ name, hash string }

// Publish implements [roster.Roster].
func (r *Roster) Publish(ctx context.Context, jobs []roster.JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.jobs == nil {
		r.jobs = map[version]published{}
	}
	for _, j := range jobs {
		v := version{j.Name, j.Hash}
		j.Account = j.Account.Merge(r.jobs[v].job.Account)
		r.jobs[v] = published{j, time.Now()}
	}
	return ctx.Err()
}

// Unpublish implements [roster.Roster].
func (r *Roster) Unpublish(ctx context.Context, jobs []roster.JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range jobs {
		delete(r.jobs, version{j.Name, j.Hash})
	}
	return ctx.Err()
}

// Jobs implements [roster.Roster].
func (r *Roster) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]roster.JobInfo, 0, len(r.jobs))
	for _, p := range r.jobs {
		p.job.Age = time.Since(p.at)
		list = append(list, p.job)
	}
	slices.SortFunc(list, func(a, b roster.JobInfo) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), b.Published.Compare(a.Published), strings.Compare(a.Hash, b.Hash))
	})
	return list, nil
}

// RenewSet implements [roster.JobSets].
func (r *Roster) RenewSet(ctx context.Context, hash string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sets[hash] != nil, ctx.Err()
}

// KeepSet implements [roster.JobSets]. It keeps sets for good.
func (r *Roster) KeepSet(ctx context.Context, hash string, packed []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sets == nil {
		r.sets = map[string][]byte{}
	}
	r.sets[hash] = packed
	return ctx.Err()
}

// JobSet implements [roster.JobSets].
func (r *Roster) JobSet(ctx context.Context, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if packed, ok := r.sets[hash]; ok {
		return packed, nil
	}
	return nil, roster.ErrNoJobSet
}

var (
	_ roster.Roster  = (*Roster)(nil)
	_ roster.JobSets = (*Roster)(nil)
)
