package scheduler

import (
	"maps"
	"slices"
	"strings"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A job with labels runs on the replicas that have all of them. The others do
// not claim its ticks, and those who have them do not wait for the others.

// fits tells whether a replica that has some labels may run what wants some.
func fits(has, wants map[string]string) bool {
	for key, value := range wants {
		if have, ok := has[key]; !ok || have != value {
			return false
		}
	}
	return true
}

// fitting lists the ids of the replicas that may run what wants some labels.
func fitting(replicas []Replica, wants map[string]string) []string {
	var ids []string
	for _, r := range replicas {
		if fits(r.Labels, wants) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// leaveToOthers accounts for a tick that this replica must not run, if by the
// end of its window nobody lives who may and was there when it came: nobody else
// would. The record of a run goes before it, so it does no harm where the roster
// is behind.
func (a *attempt) leaveToOthers() {
	sleep(a.waits, a.tick.until.Sub(a.clock.wall()))
	there := slices.DeleteFunc(slices.Clone(a.live()), func(r Replica) bool { return r.Started.After(a.tick.start) })
	if len(fitting(there, a.job.Labels)) == 0 {
		a.conclude(because(ledger.Missed, ledger.Reason{Code: ledger.CodePlacement, Details: &ledger.Details{Of: labelText(a.job.Labels)}}))
	}
}

// labelText writes labels in order: zone=a, gpu=yes.
func labelText(labels map[string]string) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		words = append(words, key+"="+labels[key])
	}
	return strings.Join(words, ", ")
}
