package scripts_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/scripts"
)

// A FINISH whose answer was lost is asked again. It gets the same answer, also when the
// next tick has been claimed.
func TestFinishAskedAgain(t *testing.T) {
	t.Parallel()
	d, _ := restricted(t)
	tick := time.Now().Add(-time.Minute).Truncate(time.Millisecond)
	token := uint64(time.Now().Unix()) << 20
	first, next := claim("v1", tick, token), claim("v2", tick.Add(time.Second), token+1)
	d.want("OK", scripts.Commit, first, "0", first.Token, 1, "0", first.Pack(), 3)
	for range 2 {
		d.want("OK", scripts.Finish, first, 3, first.Pack(), "schedule|v1", "0", "0")
	}
	d.want("OK", scripts.Commit, next, "0", next.Token, 1, "0", next.Pack(), 3)
	d.want("OK", scripts.Finish, first, 3, first.Pack(), "schedule|v1", "0", "0")
}
