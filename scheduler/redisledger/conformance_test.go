package redisledger

import (
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func backend(f fleet) schedtest.LedgerBackend {
	return schedtest.LedgerBackend{
		Hooks: f.Hooks,
		New: func(tb testing.TB) (locking.Locker, scheduler.Ledger) {
			tb.Helper()
			c := f.connect(tb)
			return c.locker, c
		},
		Short: 2100 * time.Millisecond, // more than four node timeouts
		Keep:  smallKeep,
	}
}

func TestLedgerConforms(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, f fleet) { schedtest.RunLedger(t, backend(f)) })
}

func TestArchiveConforms(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, f fleet) { schedtest.RunArchive(t, backend(f)) })
}

func TestRosterConforms(t *testing.T) {
	t.Parallel()
	onEvery(t, func(t *testing.T, f fleet) {
		schedtest.RunRoster(t, schedtest.RosterBackend{
			Hooks: f.Hooks,
			New: func(tb testing.TB) scheduler.Roster {
				tb.Helper()
				c := f.connect(tb)
				c.lately = 2 * time.Second
				return c
			},
			Lately: 2 * time.Second,
		})
	})
}
