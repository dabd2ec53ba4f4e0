package listing_test

import (
	"encoding/json"
	"testing"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Records of others may lack their times.
func TestRecordsWithoutTimesAreShown(t *testing.T) {
	t.Parallel()
	for _, row := range []any{
		listing.NewRun(ledger.Entry{Lease: ledger.Lease{Beats: &ledger.Beats{Failed: 1, Last: make([]ledger.Beat, 1)}}}),
		listing.NewTick(ledger.Entry{}),
		listing.NewAct(acts.Act{}),
	} {
		if _, err := json.Marshal(row); err != nil {
			t.Errorf("%+v: %v", row, err)
		}
	}
}
