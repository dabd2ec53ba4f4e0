package redlock

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
)

// If too few nodes are up, those are not asked, and store nothing; when the others are
// back, claims are granted again.
func TestTooFewNodesAreUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, w, minis := countedNodes(t, 5)
		l := c.locker(t)
		for _, i := range []int{0, 2, 4} {
			minis.Stop(i)
		}
		for n, req := range []locking.Request{c.request(past(1)), direct(c.request(past(1)))} {
			if n == 0 { // it finds out
				_, _ = l.TryAcquire(t.Context(), req)
				time.Sleep(time.Minute)
			}
			w.since()
			_, err := l.TryAcquire(t.Context(), req)
			refused, _ := errors.AsType[*locking.AcquireError](err)
			if !errors.Is(err, locking.ErrNoQuorum) || len(refused.Nodes) != 3 {
				t.Errorf("with three of five nodes down: %v, want no quorum and why of each of the three", err)
			}
			if asked := w.since(); strings.Contains(asked, "lock") || strings.Contains(asked, "commit") {
				t.Errorf("with three of five nodes down the others are asked: %s", asked)
			}
		}
		for _, i := range []int{0, 2, 4} {
			minis.Start(i, true)
		}
		time.Sleep(30 * time.Second) // until it is found, and vouches
		mustAcquire(t, l, c.request(time.Now().Truncate(time.Second)))
	})
}
