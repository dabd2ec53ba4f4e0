package scheduler

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A job with labels runs on replicas that have all of them. The others do not claim its
// ticks, and are left out of its ranks.

// fits reports whether a replica with the labels has may run a job with the labels wants.
func fits(has, wants map[string]string) bool {
	for key, value := range wants {
		if have, ok := has[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// fitting returns the ids of the replicas that may run a job with these labels.
func fitting(replicas []Replica, wants map[string]string) []string {
	var ids []string
	for _, r := range replicas {
		if fits(r.Labels, wants) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// leaveToOthers waits for the end of the window of a tick that this replica must not run.
// It records the tick if no replica with the labels is alive that was there when the tick
// came. The record of a run replaces it, so a late roster does no harm.
func (a *attempt) leaveToOthers() {
	sleep(a.waits, a.tick.until.Sub(a.clock.wall()))
	there := slices.DeleteFunc(slices.Clone(a.live()), func(r Replica) bool { return r.Started.After(a.tick.start) })
	if len(fitting(there, a.job.Labels)) == 0 {
		a.conclude(because(ledger.Missed, ledger.Reason{Code: ledger.CodePlacement, Details: &ledger.Details{Of: labelText(a.job.Labels)}}))
	}
}

// labelText returns the labels in order: zone=a, gpu=yes.
func labelText(labels map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return strings.Join(words, ", ")
}
