package presence

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

const beatTimeout = 2 * time.Second

// A Heartbeat tells the roster that this replica is alive, and remembers which others are.
// All of it is a hint: it orders the first tries.
type Heartbeat struct {
	Roster roster.Roster // may be nil
	Every  time.Duration
	Self   func() roster.Replica // describes this replica as it is now

	// What is told of other replicas, which depends on the jobs of this one.
	Observer event.Observer
	Sets     roster.JobSets // may be nil
	Own      func() roster.JobSet
	Now      func() time.Time

	others atomic.Pointer[[]roster.Replica]
}

// Live returns the replicas last seen that claim ticks; none before the first answer.
func (h *Heartbeat) Live() []roster.Replica {
	if seen := h.others.Load(); seen != nil {
		return *seen
	}
	return nil
}

// Run announces the replica until ctx ends, then removes it from the roster.
func (h *Heartbeat) Run(ctx context.Context) {
	if h.Roster == nil {
		return
	}
	ticker := time.NewTicker(h.Every)
	defer ticker.Stop()
	near := &neighbours{observer: h.Observer, sets: h.Sets, own: h.Own}
	for ctx.Err() == nil {
		h.beat(ctx, near)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	h.leave(context.WithoutCancel(ctx))
}

// beat announces this replica. Without an answer the last list stays. It goes on when ctx ends: a
// request that was given up may come after that to leave.
func (h *Heartbeat) beat(ctx context.Context, near *neighbours) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	self := h.Self()
	replicas, err := h.Roster.Beat(ctx, self)
	if err != nil {
		return
	}
	var live []roster.Replica
	for _, r := range replicas {
		if r.State != roster.StateDraining { // it claims no ticks, so nobody waits for it
			live = append(live, r)
		}
	}
	h.others.Store(&live)
	near.see(ctx, self, replicas, h.Now())
}

func (h *Heartbeat) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	// If it fails, the roster removes this replica by its age.
	_ = h.Roster.Leave(ctx, h.Self())
}
