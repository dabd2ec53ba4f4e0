package schedtest

import (
	"testing"
	"testing/synctest"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

func memoryLedger() LedgerBackend {
	return LedgerBackend{
		Hooks: Hooks{Bubble: synctest.Test},
		New: func(testing.TB) (locking.Locker, ledger.Store) {
			locks := new(locktest.Memory)
			return locks, NewLedger(locks)
		},
		Keep: keep,
	}
}

func memoryRoster() RosterBackend {
	return RosterBackend{
		Hooks: Hooks{Bubble: synctest.Test},
		New:   func(testing.TB) roster.Roster { return new(Roster) },
	}
}

func TestMemoryLedgerConforms(t *testing.T) {
	t.Parallel()
	RunLedger(t, memoryLedger())
}

func TestMemoryRosterConforms(t *testing.T) {
	t.Parallel()
	RunRoster(t, memoryRoster())
}

func TestMemoryArchiveConforms(t *testing.T) {
	t.Parallel()
	RunArchive(t, memoryLedger())
}
