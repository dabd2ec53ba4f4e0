package pgstore_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	singleledger "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// ledgerKits runs the kits with the role of a replica.
func ledgerKits(t *testing.T, w *world) { ledgerConforms(t, w, w.urlAs("replica")) }

// ledgerConforms runs the kits of the ledger, the archive and the roster at a URL.
func ledgerConforms(t *testing.T, w *world, url string) {
	t.Helper()
	b := schedtest.LedgerBackend{
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			s := w.open(tb, url)
			return lockerOn(tb, s), singleledger.New(s, time.Minute)
		},
		Short: 2100 * time.Millisecond, // more than four timeouts
		Keep:  jobs.MaxKeep,
	}
	t.Run("Ledger", func(t *testing.T) { t.Parallel(); schedtest.RunLedger(t, b) })
	t.Run("Archive", func(t *testing.T) { t.Parallel(); schedtest.RunArchive(t, b) })
	t.Run("Roster", func(t *testing.T) {
		t.Parallel()
		schedtest.RunRoster(t, schedtest.RosterBackend{
			New: func(tb testing.TB) roster.Roster {
				tb.Helper()
				return singleledger.NewRoster(w.open(tb, url))
			},
		})
	})
}

// lockerOn declares the store new, and returns a Locker until the test ends.
func lockerOn(tb testing.TB, s kv.Store) *claims.Locker {
	tb.Helper()
	if err := claims.DeclareNew(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	l, err := claims.New(s, claims.Config{Grace: time.Minute, Timeout: 500 * time.Millisecond})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}
