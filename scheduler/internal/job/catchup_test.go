package job

import (
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestWhatIsCaughtUp(t *testing.T) {
	t.Parallel()
	const window, behind = 6 * time.Hour, "an earlier tick of the job was still being decided on this replica"
	at := func(ago time.Duration, why ledger.Code) Tick {
		return Tick{At: noon.Add(-ago), Until: noon.Add(-ago + time.Minute), Latest: noon.Add(window - ago), Why: &ledger.Reason{Code: why}}
	}
	tests := []struct {
		name        string
		policy      jobs.CatchUp
		tick        Tick
		newer, late int
		reason      string
	}{
		{"none", jobs.CatchUp{}, Tick{Until: noon, Why: &ledger.Reason{Code: "x"}}, 0, 0, "x"},
		{"none, unknown cause", jobs.CatchUp{}, Tick{Until: noon}, 0, 0, behind},
		{"the last one", jobs.CatchUp{Mode: jobs.CatchUpLast}, at(time.Hour, "x"), 0, 0, ""},
		{"not the last one", jobs.CatchUp{Mode: jobs.CatchUpLast}, at(time.Hour, "x"), 1, 0, "catch_up: last: a later tick came first (x)"},
		{"all", jobs.CatchUp{Mode: jobs.CatchUpAll}, at(time.Hour, "x"), 99, 99, ""},
		{"all, too many", jobs.CatchUp{Mode: jobs.CatchUpAll}, at(time.Hour, "x"), 100, 100, "catch_up: more than max=100 (x)"},
		{"all, the one that is not late does not count", jobs.CatchUp{Mode: jobs.CatchUpAll, Max: 3}, at(time.Hour, "x"), 3, 2, ""},
		{"all, a bound of its own", jobs.CatchUp{Mode: jobs.CatchUpAll, Max: 3}, Tick{At: noon, Until: noon, Latest: noon.Add(window)}, 3, 3, "catch_up: more than max=3 (" + behind + ")"},
		{"at the end of the window", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: window}, at(window, "x"), 0, 0, "catch_up: window=6h0m0s has passed (x)"},
		{"just before", jobs.CatchUp{Mode: jobs.CatchUpAll, Window: window}, at(window-1, "x"), 0, 0, ""},
	}
	for _, tt := range tests {
		if got := New(jobs.Job{Hash: "1", CatchUp: tt.policy}).WhyNotCaughtUp(tt.tick, noon, tt.newer, tt.late).String(); got != tt.reason {
			t.Errorf("%s: refused for %q, want %q", tt.name, got, tt.reason)
		}
	}
}
