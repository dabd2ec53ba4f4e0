package ledger

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// leastRules are those of the least privileged user.
var leastRules = membership.ACLRules("quorate*")

func backend(f redistest.Fleet) schedtest.LedgerBackend {
	return schedtest.LedgerBackend{
		Hooks: schedtest.Hooks{Bubble: f.Bubble},
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			c := connect(tb, f.New(tb))
			return c.locker, c
		},
		Short: 6100 * time.Millisecond, // more than four node timeouts
		Keep:  smallKeep,
	}
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	redistest.OnEvery(t, leastRules, func(t *testing.T, f redistest.Fleet) { schedtest.RunLedger(t, backend(f)) })
}

func TestArchiveConforms(t *testing.T) {
	t.Parallel()
	redistest.OnEvery(t, leastRules, func(t *testing.T, f redistest.Fleet) { schedtest.RunArchive(t, backend(f)) })
}

func TestRosterConforms(t *testing.T) {
	t.Parallel()
	redistest.OnEvery(t, leastRules, func(t *testing.T, f redistest.Fleet) {
		schedtest.RunRoster(t, schedtest.RosterBackend{
			Hooks: schedtest.Hooks{Bubble: f.Bubble},
			New: func(tb testing.TB) roster.Roster {
				tb.Helper()
				c := connect(tb, f.New(tb))
				c.lately = 2 * time.Second
				return c
			},
			Lately: 2 * time.Second,
		})
	})
}
