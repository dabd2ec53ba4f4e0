package publish

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// Calm is how long no replica starts, stops or drains, and neither of two changes its jobs, until
// different jobs under one name are told: during a roll-out there are some.
const Calm = 2 * time.Minute

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
	if now.Sub(n.since) < Calm {
		return
	}
	for _, r := range live {
		pair, stranger := r.Program, self.Program != r.Program && self.Program != "" && r.Program != ""
		if !stranger {
			pair = self.ConfigHash + " " + r.ConfigHash
		}
		changed := now.Sub(r.ConfigSince) < Calm || now.Sub(self.ConfigSince) < Calm
		switch {
		case n.judged[pair], r.State == roster.StateDraining, !stranger && (r.ConfigHash == self.ConfigHash || changed):
			continue
		}
		n.judged[pair] = n.judge(ctx, self, r, stranger)
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
		n.observer(event.Event{Kind: event.Twin, Other: place(r)})
	}
}

// judge tells of a replica with other jobs under the names of this one's. It reports false if its
// set is not known now.
func (n *neighbours) judge(ctx context.Context, self, r roster.Replica, stranger bool) bool {
	own := n.own()
	theirs := own
	if r.ConfigHash != self.ConfigHash {
		if n.sets == nil {
			return true
		}
		packed, err := n.sets.JobSet(ctx, r.ConfigHash)
		if err == nil {
			theirs, err = roster.UnpackJobs(packed)
		}
		if err != nil {
			return false
		}
	}
	mine := make(map[string]roster.JobText, len(own.Jobs))
	for _, j := range own.Jobs {
		mine[j.Key] = j
	}
	var names []string
	for _, j := range theirs.Jobs {
		if have, both := mine[j.Key]; both && (stranger || have.Hash != j.Hash || have.Code != j.Code) {
			names = append(names, have.Name)
		}
	}
	if len(names) > 0 {
		slices.Sort(names)
		n.observer(event.Event{Kind: event.Stranger, Other: place(r), Jobs: names, Since: n.since})
	}
	return true
}

// place names a replica, its program and where it runs.
func place(r roster.Replica) string {
	text := fmt.Sprintf("%s (process %d on %s", r.ID, r.PID, r.Host)
	if r.Program != "" {
		text += ", program " + r.Program
	}
	return text + ")"
}
