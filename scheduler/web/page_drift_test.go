package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// Who serves which version of a job is said in words.
func TestDriftInWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	for _, one := range []scheduler.Replica{{ID: "b", ConfigHash: "c2", Seen: now}, {ID: "c", ConfigHash: "c1", Seen: now}} {
		_, err := r.roster.Beat(t.Context(), one)
		r.must(err)
	}
	version := func(hash, set, schedule string, since time.Duration) scheduler.JobInfo {
		return scheduler.JobInfo{Name: "invoice", Hash: hash, Schedule: schedule, Timezone: "UTC", Replica: "a", Published: now, ConfigHash: set, Since: now.Add(-since)}
	}
	r.must(r.roster.Publish(t.Context(), []scheduler.JobInfo{version("1", "c1", "@every 10m", time.Hour), version("2", "c2", "@every 5m", time.Minute)}))
	text := string(r.ask(viewer, "GET", "/configuration", "").body)
	for _, want := range []string{"b on schedule @every 5m; the others on schedule @every 10m", "1 min ago"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q: %s", want, text)
		}
	}
}
