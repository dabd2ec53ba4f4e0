package view_test

import (
	"encoding/json"
	"testing"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Records of others may lack their times.
func TestRecordsWithoutTimesAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range []any{
		view.NewRun(ledger.Entry{Lease: ledger.Lease{Beats: &ledger.Beats{Failed: 1, Last: make([]ledger.Beat, 1)}}}),
		view.NewTick(ledger.Entry{}),
		view.NewCommand(commands.Command{}),
	} {
		if _, err := json.Marshal(row); err != nil {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
