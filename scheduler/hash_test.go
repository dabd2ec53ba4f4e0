package scheduler

import (
	"testing"

	"github.com/quorate/quorate/scheduler/schedule"
)

// Jobs made in Go without a Spec are distinguished by their schedules.
func TestHashSeesSchedules(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, spec := range []string{"0 0 * * *", "0 0 2 3 *", "0 0 * * 1-5", "@every 24h", "@at 2026-12-01T00:00:00Z", "@at 2031-01-01T00:00:00Z"} {
		s, err := schedule.Parse(spec, schedule.Options{})
		if err != nil {
			t.Fatal(err)
		}
		hash := (&Job{Name: "j", Schedule: s}).hash()
		if other, same := seen[hash]; same && (spec != "@every 24h" || other != "0 0 * * *") { // these two have the same ticks
			t.Errorf("%q and %q have the same hash", spec, other)
		}
		seen[hash] = spec
	}
}
