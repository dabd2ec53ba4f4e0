package replica

import "github.com/quorate/quorate/scheduler"

// notReady says why the replica takes no ticks now; nothing if it does, be it of
// some cells only. It asks no node.
func (r *Replica) notReady() []string {
	var reasons []string
	if r.draining.Load() {
		reasons = append(reasons, "draining: no new ticks are taken")
	}
	return append(reasons, r.waiting()...)
}

// waiting says of each cell why no tick can run there; nothing if one can in one.
func (r *Replica) waiting() []string {
	var reasons []string
	for _, c := range r.cells {
		why := c.notReady()
		if why == "" {
			return nil
		}
		if name := c.set.Cell(); name != "" {
			why = "cell " + name + ": " + why
		}
		reasons = append(reasons, why)
	}
	return reasons
}

// state is notReady for the roster, which learns of a drain by itself.
func (r *Replica) state() string {
	if len(r.waiting()) > 0 {
		return scheduler.StateWaiting
	}
	return scheduler.StateReady
}
