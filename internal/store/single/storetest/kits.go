// Package storetest runs all kits on one consistent store: those of the store, of locks, ledger,
// roster and acts, and a restore from a backup. It measures claims, too.
package storetest

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/acts"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/kv/kvtest"
	onestore "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	asked "github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// Full reports whether the kits run at full length.
func Full() bool { return os.Getenv("QUORATE_CAMPAIGN") == "full" }

// A World is servers that tests share: each has a namespace of its own.
type World struct {
	// Open opens the store in a namespace until the test ends. Required.
	Open func(tb testing.TB, namespace string) kv.Store
	// NextLife does what a process does that has noticed a restore. Required.
	NextLife func(tb testing.TB, s kv.Store)
	// OneByOne: the store reads one record at a time. Then the kit of acts, which asks for hundreds
	// of thousands, runs at full length only.
	OneByOne bool

	count atomic.Int64 // of namespaces
}

// namespace names one that nobody has.
func (w *World) namespace() string { return fmt.Sprintf("n%d", w.count.Add(1)) }

func (w *World) open(tb testing.TB) kv.Store {
	tb.Helper()
	return w.Open(tb, w.namespace())
}

// Run runs the kits at once. That of locks runs at full length only, since its leases expire in
// real time.
func (w *World) Run(t *testing.T) {
	t.Helper()
	kits := map[string]func(*testing.T){"Store": w.store, "Stress": w.stress, "Ledger": w.ledger}
	if Full() {
		kits["Locks"] = w.locks
	}
	if Full() || !w.OneByOne {
		kits["Acts"] = w.acts
	}
	for name, kit := range kits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit(t)
		})
	}
}

// rounds is how often the checks with competitors repeat.
func rounds() int {
	if Full() {
		return 10_000
	}
	return 200
}

func (w *World) store(t *testing.T) {
	kvtest.Run(t, kvtest.Backend{New: w.open, NextLife: w.NextLife, Clockless: true, Rounds: rounds()})
}

const timeout = 500 * time.Millisecond

// lockerOn returns a Locker until the test ends.
func lockerOn(tb testing.TB, s kv.Store, timeout time.Duration) *claims.Locker {
	tb.Helper()
	l, err := claims.New(s, claims.Config{Grace: time.Minute, Timeout: timeout})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// declaredNew returns a store that was declared new.
func (w *World) declaredNew(tb testing.TB) kv.Store {
	tb.Helper()
	s := w.open(tb)
	if err := claims.DeclareNew(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// replicas returns what connects further replicas to one new store.
func (w *World) replicas(tb testing.TB, timeout time.Duration) func(string) locking.Locker {
	tb.Helper()
	namespace := w.namespace()
	if err := claims.DeclareNew(tb.Context(), w.Open(tb, namespace)); err != nil {
		tb.Fatal(err)
	}
	return func(string) locking.Locker { return lockerOn(tb, w.Open(tb, namespace), timeout) }
}

func (w *World) locks(t *testing.T) {
	locktest.Run(t, locktest.Backend{
		New:  func(tb testing.TB) func(string) locking.Locker { tb.Helper(); return w.replicas(tb, timeout) },
		Long: 50 * time.Second, Short: 2100 * time.Millisecond,
	})
}

func (w *World) stress(t *testing.T) {
	cfg := locktest.StressConfig{Contenders: 20, Rounds: rounds(), TTL: 20 * time.Second}
	got := locktest.Stress(t, w.replicas(t, 3*time.Second), cfg) // a stall of the disk loses no round
	t.Logf("%d contenders: %v", cfg.Contenders, got)
	if got.Rounds != cfg.Rounds || got.Written != cfg.Rounds || got.Released != cfg.Rounds {
		t.Errorf("%d rounds, want %d, all written and released", got.Rounds, cfg.Rounds)
	}
}

func (w *World) ledger(t *testing.T) {
	b := schedtest.LedgerBackend{
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			s := w.declaredNew(tb)
			return lockerOn(tb, s, timeout), onestore.New(s, time.Second)
		},
		Short: 2100 * time.Millisecond,
		Keep:  ledger.MaxKeep,
	}
	t.Run("Ledger", func(t *testing.T) { t.Parallel(); schedtest.RunLedger(t, b) })
	t.Run("Archive", func(t *testing.T) { t.Parallel(); schedtest.RunArchive(t, b) })
	t.Run("Roster", func(t *testing.T) {
		t.Parallel()
		schedtest.RunRoster(t, schedtest.RosterBackend{New: func(tb testing.TB) scheduler.Roster {
			tb.Helper()
			return onestore.NewRoster(w.open(tb))
		}})
	})
}

func (w *World) acts(t *testing.T) {
	schedtest.RunActs(t, schedtest.ActsBackend{
		New: func(tb testing.TB) asked.Store {
			tb.Helper()
			return acts.New(w.open(tb))
		}, MaxOpen: asked.MaxOpen, MaxPauses: asked.MaxPauses,
	})
}
