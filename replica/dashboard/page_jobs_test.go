package dashboard_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// Pages say that jitter delays a job, and by how much the next tick.
func TestJitterIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.must(r.roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "slow", Schedule: "@every 24h", Definition: `{"spec":"@every 24h"}`, Timezone: "UTC", Replica: "a", Published: time.Now(), ConfigHash: "c1", Jitter: 10 * time.Hour,
	}}))
	for path, wants := range map[string][]string{
		"/jobs":        {"starts at <time", "(jitter)"},
		"/jobs/slow":   {"each tick starts up to 10 h after its time", " later (jitter)"},
		"/jobs/report": nil,
	} {
		text := string(r.ask(viewer, "GET", path, "").body)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q: %s", path, want, text)
			}
		}
		if wants == nil && strings.Contains(text, "itter") {
			t.Errorf("%s speaks of jitter: %s", path, text)
		}
	}
}
