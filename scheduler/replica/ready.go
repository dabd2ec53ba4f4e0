package replica

import (
	"errors"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// notReady says why the replica takes no ticks now; nothing if it does. It
// asks no node.
func (r *Replica) notReady() []string {
	var reasons []string
	if r.draining.Load() {
		reasons = append(reasons, "draining: no new ticks are taken")
	}
	if joining := r.joining.Load(); joining != nil {
		return append(reasons, "waiting for the nodes: "+oneLine((*joining).Error()))
	}
	switch at, ok := r.set.Vouching(); {
	case !ok:
		reasons = append(reasons, "no quorum: too few nodes answer: "+said(errors.Join(r.set.Unusable()...)))
	case !at.IsZero():
		reasons = append(reasons, "waiting for the restart grace of the nodes: no tick runs before "+jobs.FormatTick(at.Round(0)))
	}
	return reasons
}

// state is notReady for the roster, which learns of a drain by itself.
func (r *Replica) state() string {
	if at, ok := r.set.Vouching(); !ok || !at.IsZero() {
		return scheduler.StateWaiting
	}
	return scheduler.StateReady
}

// noticeFormatting remembers whether nodes were blank when this replica came.
func (r *Replica) noticeFormatting(o nodes.Observer) nodes.Observer {
	tell := o.Formatted
	o.Formatted = func(node string, until time.Time) {
		r.formatted.Store(true)
		tell(node, until)
	}
	return o
}
