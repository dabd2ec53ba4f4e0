package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A rollCall is a Roster that answers with a fixed list.
type rollCall struct {
	mu        sync.Mutex
	list      []Replica
	err       error
	beats     []time.Time
	published int
	left      []string
}

func (r *rollCall) Beat(_ context.Context, self Replica) ([]Replica, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beats = append(r.beats, self.Seen)
	return r.list, r.err
}

func (r *rollCall) Leave(ctx context.Context, id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, id)
	return ctx.Err()
}
func (r *rollCall) Replicas(context.Context) ([]Replica, error) { return r.list, r.err }
func (r *rollCall) Jobs(context.Context) ([]JobInfo, error)     { return nil, r.err }
func (r *rollCall) Publish(context.Context, []JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.published++
	return nil
}

// answer sets what the roster answers from now on.
func (r *rollCall) answer(list []Replica, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.err = list, err
}

func TestHeart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		roster := &rollCall{list: []Replica{{ID: "a"}, {ID: "b", State: StateDraining}, {ID: "c", State: StateWaiting}}}
		h := &heart{cfg: validConfig(), snapshot: func() Snapshot { return Snapshot{} }}
		h.cfg.Roster = roster
		if got := h.live(); got != nil {
			t.Errorf("live before the first beat: %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go h.run(ctx)
		synctest.Wait()
		want := []string{"a", "c"} // b takes no ticks
		if got := h.live(); !slices.Equal(got, want) {
			t.Errorf("live: %v, want %v", got, want)
		}
		roster.answer(nil, errors.New("no quorum"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := h.live(); !slices.Equal(got, want) {
			t.Errorf("live while the roster is silent: %v, want %v", got, want)
		}
		if len(roster.beats) < 130 {
			t.Errorf("%d beats in 11 minutes", len(roster.beats))
		}
		roster.answer(nil, nil)
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if roster.published != 4 { // at the start; after the outage, and twice after 5 minutes
			t.Errorf("published %d times", roster.published)
		}
		cancel()
		synctest.Wait()
		if !slices.Equal(roster.left, []string{"r1"}) {
			t.Errorf("left: %v", roster.left)
		}
	})
}
