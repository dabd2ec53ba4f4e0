package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/storetest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// smallKeep is a small bound, so the tests reach it.
const smallKeep = 100

// fresh returns a store that was declared new, and its ledger.
func fresh(tb testing.TB) (*storetest.Memory, *Ledger) {
	tb.Helper()
	m := &storetest.Memory{}
	commit(tb, m, store.Txn{Put: []store.Write{records.Put(records.LifeKey(), records.Life{Life: life(tb, m)})}})
	l := New(m, time.Minute)
	l.keep = smallKeep
	return m, l
}

func life(tb testing.TB, s store.Store) string {
	tb.Helper()
	_, stamp, err := s.Read(tb.Context(), records.LifeKey())
	if err != nil {
		tb.Fatal(err)
	}
	return stamp.Life
}

// commit commits t in the present life.
func commit(tb testing.TB, s store.Store, t store.Txn) {
	tb.Helper()
	t.Life = life(tb, s)
	if o, err := s.Commit(tb.Context(), t); err != nil || !o.Won {
		tb.Fatalf("Commit = %+v, %v", o, err)
	}
}

func backend() schedtest.LedgerBackend {
	return schedtest.LedgerBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			m, l := fresh(tb)
			return &stub{store: m}, l
		},
		Keep: smallKeep,
	}
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunLedger(t, backend())
}

func TestArchiveConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunArchive(t, backend())
}

func TestRosterConforms(t *testing.T) {
	t.Parallel()
	schedtest.RunRoster(t, schedtest.RosterBackend{
		Hooks: schedtest.Hooks{Bubble: synctest.Test},
		New: func(tb testing.TB) scheduler.Roster {
			tb.Helper()
			m, _ := fresh(tb)
			return NewRoster(m)
		},
	})
}
