package scheduler

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/scheduler/internal/roster"
)

// A rollCall is a Roster with a fixed list.
type rollCall struct {
	mu        sync.Mutex
	list      []Replica
	err       error
	beats     []time.Time
	published [][]JobInfo
	listed    []JobInfo
	taken     []JobInfo
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

func (r *rollCall) Replicas(context.Context) ([]Replica, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list, r.err
}

func (r *rollCall) Jobs(context.Context) ([]JobInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.listed, r.err
}

func (r *rollCall) Publish(_ context.Context, jobs []JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.published = append(r.published, jobs)
	}
	return r.err
}

func (r *rollCall) Unpublish(_ context.Context, jobs []JobInfo) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = append(r.taken, jobs...)
	return r.err
}

// answer sets the answer of the roster.
func (r *rollCall) answer(list []Replica, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.err = list, err
}

func TestHeart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := &rollCall{list: []Replica{{ID: "a"}, {ID: "b", State: StateDraining}, {ID: "c", State: StateWaiting}}}
		h := &heartbeat{
			cfg: validConfig(), snapshot: func() Snapshot { return Snapshot{Won: 7} },
			serving: func() serving { return serving{"c1", time.Unix(99, 0), 3} },
		}
		h.cfg.ClockOffset = func() (time.Duration, bool) { return time.Second, true }
		h.cfg.Roster = calls
		if got := h.live(); got != nil {
			t.Errorf("live before the first beat: %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go h.run(ctx)
		synctest.Wait()
		want := []string{"a", "c"} // b takes no ticks
		if got := roster.Fitting(h.live(), nil); !slices.Equal(got, want) {
			t.Errorf("live: %v, want %v", got, want)
		}
		calls.answer(nil, errors.New("no quorum"))
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := roster.Fitting(h.live(), nil); !slices.Equal(got, want) {
			t.Errorf("live while the roster is silent: %v, want %v", got, want)
		}
		if len(calls.beats) < 130 {
			t.Errorf("%d beats in 11 minutes", len(calls.beats))
		}
		if self := h.self(); self.ConfigHash != "c1" || !self.ConfigSince.Equal(time.Unix(99, 0)) || *self.Jobs != 3 || *self.Won != 7 || *self.ClockOffset != time.Second {
			t.Errorf("it says of itself %+v", self)
		}
		for ahead, want := range map[time.Duration]string{
			500 * time.Millisecond: StateReady, 501 * time.Millisecond: StateSkewed, -time.Hour: StateSkewed,
		} {
			h.cfg.ClockOffset = func() (time.Duration, bool) { return ahead, true }
			h.snapshot = func() Snapshot { return Snapshot{State: StateReady} }
			if self := h.self(); self.State != want {
				t.Errorf("%v ahead it says that it is %s, want %s", ahead, self.State, want)
			}
			h.snapshot = func() Snapshot { return Snapshot{State: StateDraining} }
			if self := h.self(); self.State != StateDraining {
				t.Errorf("%v ahead and draining it says that it is %s", ahead, self.State)
			}
		}
		h.cfg.ClockOffset = func() (time.Duration, bool) { return 0, false }
		if self := h.self(); self.ClockOffset != nil {
			t.Errorf("a clock that nobody knows is %v ahead", *self.ClockOffset)
		}
		cancel()
		synctest.Wait()
		if !slices.Equal(calls.left, []string{"r1"}) {
			t.Errorf("left: %v", calls.left)
		}
	})
}
