package output

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
)

// The last cell of a row has unusual facts of a run, and the reason of its end.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		entry ledger.Entry
		want  string
	}{
		{ledger.Entry{Token: 1, Attempt: 1, Calls: 1, Trigger: ledger.BySchedule}, ""},
		{ledger.Entry{Token: 1, Attempt: 1, Calls: 1, Trigger: ledger.ByManual}, "manual"},
		{ledger.Entry{Token: 1, Attempt: 2, Calls: 1, Trigger: ledger.ByRerun}, "rerun, attempt 2"},
		{ledger.Entry{Token: 1, Attempt: 1, Calls: 3, Trigger: ledger.BySchedule, Error: "exit status 3"}, "3 calls: exit status 3"},
		{ledger.Entry{Trigger: ledger.BySchedule, Reason: ledger.TextReason("no quorum"), Error: "exit status 3"}, "no quorum; exit status 3"},
		{ledger.Entry{Token: 1, Attempt: 2, Trigger: ledger.ByRerun, Lease: ledger.Lease{Interruptions: 1, InterruptedOn: "b"}}, "rerun, attempt 2, interrupted on b"},
		{ledger.Entry{Token: 1, Attempt: 1, Trigger: ledger.ByCatchUp}, "catch_up"},
		{ledger.Entry{Trigger: ledger.ByCatchUp, Reason: ledger.TextReason("catch_up: last: a later tick came first")}, "catch_up: last: a later tick came first"},
		{ledger.Entry{Trigger: ledger.ByManual, Reason: ledger.TextReason("expired")}, "manual: expired"},
	} {
		tt.entry.Job, tt.entry.Tick = "j", time.Unix(0, 0)
		if got := Why(view.NewRun(tt.entry)); got != tt.want {
			t.Errorf("why of %+v = %q, want %q", tt.entry, got, tt.want)
		}
	}
}
