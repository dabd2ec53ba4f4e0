package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallKeep is a small bound, so the tests reach it.
const smallKeep = 100

// fresh returns a store that was declared new, and its ledger.
func fresh(tb testing.TB) (*kvtest.Memory, *Ledger) {
	tb.Helper()
	return freshOn(tb, &kvtest.Memory{})
}

func freshOn(tb testing.TB, m *kvtest.Memory) (*kvtest.Memory, *Ledger) {
	tb.Helper()
	if err := claims.DeclareNew(tb.Context(), m); err != nil {
		tb.Fatal(err)
	}
	grace := time.Minute
	if m.Clockless {
		grace = time.Second // half of it passes before a run counts as interrupted
	}
	l := New(m, grace)
	l.keep = smallKeep
	return m, l
}

// lockerOn returns a Locker on the store, until the test ends.
func lockerOn(tb testing.TB, s kv.Store) locking.Locker {
	tb.Helper()
	l, err := claims.New(s, claims.Config{Grace: time.Minute, Timeout: 500 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

func incarnation(tb testing.TB, s kv.Store) string {
	tb.Helper()
	_, stamp, err := s.Read(tb.Context(), records.IncarnationKey())
	if err != nil {
		tb.Fatal(err)
	}
	return stamp.Incarnation
}

// commit commits t in the present incarnation.
func commit(tb testing.TB, s kv.Store, t kv.Txn) {
	tb.Helper()
	t.Incarnation = incarnation(tb, s)
	if o, err := s.Commit(tb.Context(), t); err != nil || !o.Won {
		tb.Fatalf("Commit = %+v, %v", o, err)
	}
}

func backend(clockless bool) schedtest.LedgerBackend {
	return schedtest.LedgerBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			m, l := freshOn(tb, &kvtest.Memory{Clockless: clockless})
			return lockerOn(tb, m), l
		},
		Short: 2100 * time.Millisecond, // more than four timeouts
		Keep:  smallKeep,
	}
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunLedger(t, backend(false))
}

func TestArchiveConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunArchive(t, backend(false))
}

func TestConformsWithoutClock(t *testing.T) {
	t.Parallel()
	schedtest.RunLedger(t, backend(true))
	schedtest.RunArchive(t, backend(true))
	rosterConforms(t, true)
}

func TestRosterConforms(t *testing.T) {
	t.Parallel()
	rosterConforms(t, false)
}

func rosterConforms(t *testing.T, clockless bool) {
	t.Helper()
	schedtest.RunRoster(t, schedtest.RosterBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(tb testing.TB) roster.Roster {
			tb.Helper()
			m, _ := freshOn(tb, &kvtest.Memory{Clockless: clockless})
			return NewRoster(m)
		},
	})
}
