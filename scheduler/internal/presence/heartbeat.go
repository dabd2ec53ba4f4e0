package presence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/roster"
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	// If it fails, the roster removes this replica by its age.
	_ = h.Roster.Leave(ctx, h.Self())
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

// neighbours tell of live replicas that this one should not have beside it: another process under its
// ID, and replicas with other jobs under the names of its own. Only the heartbeat uses them.
type neighbours struct {
	observer event.Observer
	sets     roster.JobSets       // may be nil
	own      func() roster.JobSet // of this replica

	twins  map[string]time.Time // of processes under its ID: when each was last seen first; zero: told
	scene  string               // who lives, and who drains
	since  time.Time            // when that began
	judged map[string]bool      // programs and sets of others, beside which set of its own
}

// see compares the live replicas with this one. It reads at most one set.
func (n *neighbours) see(ctx context.Context, self roster.Replica, live []roster.Replica, now time.Time) {
	var scene []string
	for _, r := range live {
		if r.ID == self.ID && r.Process() != self.Process() {
			n.seeTwin(r)
		}
		scene = append(scene, fmt.Sprint(r.Process(), r.State == roster.StateDraining))
	}
	if all := strings.Join(scene, "\n"); all != n.scene {
		n.scene, n.since, n.judged = all, now, map[string]bool{}
	}
	if now.Sub(n.since) < served.Calm {
		return
	}
	for _, r := range live {
		pair := r.Program
		if !served.OtherPrograms(self, r) {
			pair = self.ConfigHash + " " + r.ConfigHash
		}
		if n.judged[pair] || r.State == roster.StateDraining || !served.MayBeApart(self, r, now) {
			continue
		}
		n.judged[pair] = n.judge(ctx, self, r)
		return
	}
}

// seeTwin tells of a process that was seen twice, with a heartbeat in between: one that has only
// left its last one behind is not alive.
func (n *neighbours) seeTwin(r roster.Replica) {
	switch seen, known := n.twins[r.Process()]; {
	case !known:
		if n.twins == nil {
			n.twins = map[string]time.Time{}
		}
		n.twins[r.Process()] = r.Seen
	case !seen.IsZero() && !seen.Equal(r.Seen):
		n.twins[r.Process()] = time.Time{}
		n.observer(event.Event{Kind: event.Twin, Other: describe(r)})
	}
}

// judge tells of a replica with other jobs under the names of this one's, or with a set that is too
// large to be compared. It reports false if its set is not known now.
func (n *neighbours) judge(ctx context.Context, self, r roster.Replica) bool {
	if n.sets == nil && r.ConfigHash != self.ConfigHash {
		return true
	}
	names, err := served.Apart(self, r, func(hash string) (roster.JobSet, error) {
		if hash == self.ConfigHash {
			return n.own(), nil
		}
		packed, err := n.sets.JobSet(ctx, hash)
		if err != nil {
			return roster.JobSet{}, err
		}
		return roster.UnpackJobs(packed)
	})
	tooLarge := errors.Is(err, roster.ErrSetTooLarge)
	if len(names) > 0 || tooLarge {
		n.observer(event.Event{Kind: event.Stranger, Other: describe(r), Jobs: names, Since: n.since, Err: err})
	}
	return err == nil || tooLarge
}

// describe names a replica, its program and where it runs.
func describe(r roster.Replica) string {
	text := fmt.Sprintf("%s (process %d on %s", r.ID, r.PID, r.Host)
	if r.Program != "" {
		text += ", program " + r.Program
	}
	return text + ")"
}
