package ledger

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The id of a run, and what is stored under it, stay what package time makes of them.
func TestStampsAreThoseOfPackageTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(-70e9, 260e9).Draw(t, "second"), rapid.Int64Range(0, 1e9-1).Draw(t, "nanosecond")).
			In(time.FixedZone("", rapid.IntRange(-14*3600, 14*3600).Draw(t, "offset")))
		want := "job@" + at.UTC().Format("20060102T150405.000Z")
		if got := runID("job", at); got != want {
			t.Fatalf("%v is written %s, want %s", at, got, want)
		}
	})
}
