package web

import (
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// TestSilentReplica: the overview says of a replica that it has not been heard of,
// and of one that is no longer there, that it has gone.
func TestSilentReplica(t *testing.T) {
	t.Parallel()
	now := time.Now()
	v := &visit{pages: &pages{Server: new(Server)}, Now: now}
	var all view
	for id, ago := range map[string]time.Duration{"quick": 7 * time.Second, "quiet": 9 * time.Second} {
		all.replicas.Items = append(all.replicas.Items, listing.Replica{ID: id, State: "ready", Seen: listing.Stamp(now.Add(-ago))})
	}
	all.entries = []scheduler.Entry{
		{Job: "report", Replica: "old", Outcome: scheduler.Succeeded},
		{Job: "sweep", Replica: "quiet", Outcome: scheduler.Interrupted},
		{Job: "sweep", Replica: "never", Outcome: scheduler.Missed},
	}
	if l := all.replicaLine(v); l.Text != "2 replicas: quiet has been silent for 9.0 s." || l.Level != "warn" || l.More != "old has gone." {
		t.Errorf("somebody is silent: %+v", l)
	}

	all.replicas.Items = []listing.Replica{{ID: "quick", State: "ready"}, {ID: "new", State: "ready"}}
	l := all.replicaLine(v)
	if l.Text != "2 replicas, all ready." || l.Level != "warn" || l.More != "old and quiet have gone, with a run of sweep half done." {
		t.Errorf("somebody has gone: %+v", l)
	}
	all.entries = all.entries[:1]
	if l := all.replicaLine(v); l.Level != "good" {
		t.Errorf("one who has gone in peace is taken for trouble: %+v", l)
	}
}
