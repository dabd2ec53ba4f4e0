package cmd

import (
	"testing"

	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/listing"
)

// The last cell of a row has what is unusual about a run, and why it ended so.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entry scheduler.Entry
		want  string
	}{
		{scheduler.Entry{Token: 1, Attempt: 1, Tries: 1, Trigger: scheduler.BySchedule}, ""},
		{scheduler.Entry{Token: 1, Attempt: 1, Tries: 1, Trigger: scheduler.ByManual}, "manual"},
		{scheduler.Entry{Token: 1, Attempt: 2, Tries: 1, Trigger: scheduler.ByRerun}, "rerun, attempt 2"},
		{scheduler.Entry{Token: 1, Attempt: 1, Tries: 3, Trigger: scheduler.BySchedule, Error: "exit status 3"}, "3 tries: exit status 3"},
		{scheduler.Entry{Trigger: scheduler.BySchedule, Reason: scheduler.Said("no quorum"), Error: "not shown"}, "no quorum"},
		{scheduler.Entry{Token: 1, Attempt: 1, Trigger: scheduler.ByCatchUp}, "catch_up"},
		{scheduler.Entry{Trigger: scheduler.ByCatchUp, Reason: scheduler.Said("catch_up: last: a later tick came first")}, "catch_up: last: a later tick came first"},
		{scheduler.Entry{Trigger: scheduler.ByManual, Reason: scheduler.Said("expired")}, "manual: expired"},
	} {
		tt.entry.Job, tt.entry.Tick = "j", tick
		if got := why(listing.NewRun(tt.entry)); got != tt.want {
			t.Errorf("why of %+v = %q, want %q", tt.entry, got, tt.want)
		}
	}
}
