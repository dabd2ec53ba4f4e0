package presence

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// A rollCall is a roster.Roster with a fixed list.
type rollCall struct {
	mu        sync.Mutex
	list      []roster.Replica
	err       error
	beats     []time.Time
	published [][]roster.JobInfo
	listed    []roster.JobInfo
	taken     []roster.JobInfo
	left      []string
}

func (r *rollCall) Beat(_ context.Context, self roster.Replica) ([]roster.Replica, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, self.Seen)
	return r.list, r.err
}

func (r *rollCall) Leave(ctx context.Context, self roster.Replica) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, self.Process())
	return ctx.Err()
}

func (r *rollCall) Replicas(context.Context) ([]roster.Replica, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list, r.err
}

func (r *rollCall) Jobs(context.Context) ([]roster.JobInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed, r.err
}

func (r *rollCall) Publish(_ context.Context, jobs []roster.JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.published = append(r.published, jobs)
	}
	return r.err
}

func (r *rollCall) Unpublish(_ context.Context, jobs []roster.JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, jobs...)
	return r.err
}

// answer sets the answer of the roster.
func (r *rollCall) answer(list []roster.Replica, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.err = list, err
}

func TestHeart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &rollCall{list: []roster.Replica{{ID: "a"}, {ID: "b", State: roster.StateDraining}, {ID: "c", State: roster.StateWaiting}}}
		h := &Heartbeat{
			Roster: calls, Every: 5 * time.Second, Now: time.Now,
			Self: func() roster.Replica { return roster.Replica{ID: "r1", Instance: "x", Seen: time.Now()} },
			Own:  func() roster.JobSet { return roster.JobSet{} },
		}
		if got := h.Live(); got != nil {
			t.Errorf("live before the first beat: %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go h.Run(ctx)
		synctest.Wait()
		want := []string{"a", "c"} // b takes no ticks
		if got := Eligible(h.Live(), nil); !slices.Equal(got, want) {
			t.Errorf("live: %v, want %v", got, want)
		}
		calls.answer(nil, errors.New("no quorum"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := Eligible(h.Live(), nil); !slices.Equal(got, want) {
			t.Errorf("live while the roster is silent: %v, want %v", got, want)
		}
		if len(calls.beats) < 130 {
			t.Errorf("%d beats in 11 minutes", len(calls.beats))
		}
		cancel()
		synctest.Wait()
		if !slices.Equal(calls.left, []string{"r1 x"}) {
			t.Errorf("left: %v", calls.left)
		}
	})
}

// A slowStore takes a beat after a second, also one that was given up meanwhile.
type slowStore struct {
	rollCall
	present bool
}

func (s *slowStore) Beat(ctx context.Context, _ roster.Replica) ([]roster.Replica, error) {
	taken := make(chan struct{})
	time.AfterFunc(time.Second, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.present = true
		close(taken)
	})
	select {
	case <-taken:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *slowStore) Leave(context.Context, roster.Replica) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.present = false
	return nil
}

// A replica that stops while it announces itself is not listed afterwards.
func TestLeaveComesAfterTheLastBeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &slowStore{}
		h := &Heartbeat{Roster: store, Every: time.Minute, Self: func() roster.Replica { return roster.Replica{ID: "a"} }, Now: time.Now}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		h.Run(ctx)
		time.Sleep(time.Minute)
		store.mu.Lock()
		defer store.mu.Unlock()
		if store.present {
			t.Error("a replica that has left is listed")
		}
	})
}
