package replica

import "github.com/quorate/quorate/scheduler"

// notReady says why the replica takes no ticks now; nothing if it does. It asks no node.
func (r *Replica) notReady() []string {
	var reasons []string
	if r.draining.Load() {
		reasons = append(reasons, "draining: no new ticks are taken")
	}
	if why := r.backend.notReady(); why != "" {
		reasons = append(reasons, why)
	}
	return reasons
}

// state is notReady for the roster, which learns of a drain by itself.
func (r *Replica) state() string {
	if r.backend.notReady() != "" {
		return scheduler.StateWaiting
	}
	return scheduler.StateReady
}
