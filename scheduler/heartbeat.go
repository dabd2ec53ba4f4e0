package scheduler

import (
	"context"
	"sync/atomic"
	"time"
)

const beatTimeout = 2 * time.Second

// A heart tells the roster that this replica lives, and remembers who else
// does. All of it is a hint: it orders the first tries.
type heart struct {
	cfg      Config
	snapshot func() Snapshot
	serving  func() serving
	started  time.Time

	others atomic.Pointer[[]Replica]
}

func newHeart(s *Scheduler, served func() serving) *heart {
	return &heart{cfg: s.cfg, snapshot: func() Snapshot { return s.ask(false) }, serving: served, started: s.clock.wall()}
}

// live returns the replicas last seen that take ticks; none before the first
// answer.
func (h *heart) live() []Replica {
	if seen := h.others.Load(); seen != nil {
		return *seen
	}
	return nil
}

// run beats until ctx ends, then takes the replica off the roster.
func (h *heart) run(ctx context.Context) {
	if h.cfg.Roster == nil {
		return
	}
	ticker := time.NewTicker(h.cfg.BeatEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		h.beat(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
	h.leave(context.WithoutCancel(ctx))
}

// beat announces this replica. Who does not answer keeps the old picture.
func (h *heart) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	replicas, err := h.cfg.Roster.Beat(ctx, h.self())
	if whole(err) != nil {
		return
	}
	var live []Replica
	for _, r := range replicas {
		if r.State != StateDraining { // it takes no ticks, so nobody waits for it
			live = append(live, r)
		}
	}
	h.others.Store(&live)
}

func (h *heart) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	// If it fails the roster forgets this replica by its age.
	_ = h.cfg.Roster.Leave(ctx, h.cfg.Replica)
}

// self describes this replica as it is now.
func (h *heart) self() Replica {
	s := h.snapshot()
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Job
	}
	serving := h.serving()
	self := Replica{
		ID: h.cfg.Replica, Version: h.cfg.Version, Host: h.cfg.Host, PID: h.cfg.PID,
		Started: h.started, Seen: time.Now().Round(0), State: s.State,
		Running: running, Labels: h.cfg.Labels,
		ConfigHash: serving.hash, ConfigSince: serving.since, Jobs: &serving.jobs, Won: &s.Won,
	}
	if h.cfg.ClockOffset != nil {
		if ahead, ok := h.cfg.ClockOffset(); ok {
			self.ClockOffset = &ahead
			if most := h.cfg.MaxClockOffset; self.State == StateReady && most >= 0 && ahead.Abs() > most {
				self.State = StateSkewed
			}
		}
	}
	return self
}
