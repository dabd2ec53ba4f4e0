package scheduler

import (
	"context"
	"sync/atomic"
	"time"
)

const beatTimeout = 2 * time.Second

// A heartbeat tells the roster that this replica is alive, and remembers which others are.
// All of it is a hint: it orders the first tries.
type heartbeat struct {
	cfg      Config
	snapshot func() Snapshot
	serving  func() serving
	started  time.Time

	others atomic.Pointer[[]Replica]
}

func newHeartbeat(s *Scheduler, served func() serving) *heartbeat {
	return &heartbeat{cfg: s.cfg, snapshot: func() Snapshot { return s.query(false) }, serving: served, started: s.clock.wall()}
}

// live returns the replicas last seen that claim ticks; none before the first answer.
func (h *heartbeat) live() []Replica {
	if seen := h.others.Load(); seen != nil {
		return *seen
	}
	return nil
}

// run announces the replica until ctx ends, then removes it from the roster.
func (h *heartbeat) run(ctx context.Context) {
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

// beat announces this replica. Without an answer the last list stays.
func (h *heartbeat) beat(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	replicas, err := h.cfg.Roster.Beat(ctx, h.self())
	if err != nil {
		return
	}
	var live []Replica
	for _, r := range replicas {
		if r.State != StateDraining { // it claims no ticks, so nobody waits for it
			live = append(live, r)
		}
	}
	h.others.Store(&live)
}

func (h *heartbeat) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	// If it fails, the roster removes this replica by its age.
	_ = h.cfg.Roster.Leave(ctx, h.cfg.Replica)
}

// self describes this replica as it is now.
func (h *heartbeat) self() Replica {
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
