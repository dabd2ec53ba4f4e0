package presence

import (
	"context"
	"sync"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// A jobSet is the set of jobs that this replica serves, as a whole.
type jobSet struct {
	store roster.JobSets // may be nil

	mu      sync.Mutex
	hash    string
	list    []*job.Job
	pending bool // it is not published yet
}

func (s *jobSet) serve(hash string, list []*job.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = s.pending || s.hash != hash
	s.hash, s.list = hash, list
}

// renew marks the set for publication.
func (s *jobSet) renew() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = true
}

// publish stores the set, and reports whether that worked. One of the replicas that serve it
// writes it; the others renew it.
func (s *jobSet) publish(ctx context.Context) bool {
	s.mu.Lock()
	hash, list, pending := s.hash, s.list, s.pending && s.store != nil
	s.pending = false
	s.mu.Unlock()
	if !pending {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	kept, err := s.store.RenewSet(ctx, hash)
	if err == nil && !kept {
		err = s.write(ctx, hash, list)
	}
	if err != nil {
		s.renew()
	}
	return err == nil
}

func (s *jobSet) write(ctx context.Context, hash string, list []*job.Job) error {
	packed, err := roster.PackJobs(len(list), roster.Texts(list))
	if err != nil {
		return nil //nolint:nilerr // settings that have no written form: to try again would not help
	}
	return s.store.KeepSet(ctx, hash, packed)
}
