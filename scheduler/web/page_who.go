package web

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// silentAfter is how long after its last word a replica is said to be silent: it
// has missed a heartbeat, also if that was a slow one.
const silentAfter = scheduler.SeenLately / 2

// replicaLine says who runs jobs, and who does no longer.
func (all view) replicaLine(v *visit) line {
	n := len(all.replicas.Items)
	l := line{Level: "good", Path: v.To("/replicas"), Text: listing.Count(n, "replica", "replicas")}
	odd, ready, hashes := all.oddReplicas(v)
	switch {
	case len(odd) > 0:
		l.Level, l.Text = "warn", l.Text+": "+listing.And(odd)
	case n == 1:
		l.Level, l.Text = "calm", "1 replica, ready; there is no other to take over"
	default:
		l.Text += ", all ready"
	}
	l.Text += "."
	if gone, hurt := all.goneReplicas(); gone != "" {
		if l.More = gone; hurt {
			l.Level = "warn"
		}
	}
	switch {
	case n == 0:
		l.Level, l.Text, l.More = "bad", "No replica runs, so no tick starts.", "Start one with: quorate run"
	case ready == 0:
		l.Level = "bad"
	case hashes > 1:
		l.Level, l.More = "warn", "They serve different configurations: a rollout goes on, or was left half done."
		l.Path = v.To("/configuration")
	}
	return l
}

// oddReplicas names those that take no ticks, and why, counts those that do, and how
// many sets of jobs are served.
func (all view) oddReplicas(v *visit) (odd []string, ready, hashes int) {
	sets := map[string]bool{}
	for _, r := range all.replicas.Items {
		sets[listing.Text(r.ConfigHash)] = true
		seen := listing.Time(r.Seen)
		switch quiet := v.asOf().Sub(seen); {
		case !seen.IsZero() && quiet > silentAfter:
			odd = append(odd, r.ID+" has been silent for "+span(quiet.Truncate(time.Second)))
		case r.State == scheduler.StateReady:
			ready++
		case r.State == scheduler.StateSkewed:
			ready++ // it runs what the others leave
			odd = append(odd, r.ID+" "+r.Odd())
		default:
			odd = append(odd, r.ID+" "+r.Odd())
		}
	}
	return odd, ready, len(sets)
}

// goneReplicas names those that have run something in the time shown and are no
// longer there, and tells whether one of them left a run half done.
func (all view) goneReplicas() (text string, hurt bool) {
	there := map[string]bool{}
	for _, r := range all.replicas.Items {
		there[r.ID] = true
	}
	var names, broken []string
	for _, e := range all.entries {
		if e.Replica == "" || there[e.Replica] || !e.Outcome.Ran() {
			continue
		}
		if !slices.Contains(names, e.Replica) {
			names = append(names, e.Replica)
		}
		if e.Outcome == scheduler.Interrupted && !slices.Contains(broken, e.Job) {
			broken = append(broken, e.Job)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	text = listing.And(names) + " " + have(len(names)) + " gone"
	if len(broken) > 0 {
		text += ", with a run of " + listing.And(broken) + " half done"
	}
	return text + ".", len(broken) > 0
}

func have(n int) string {
	if n == 1 {
		return "has"
	}
	return "have"
}
