// Package storetest runs all kits on one consistent store: those of the store, of locks, ledger,
// roster and commands, and a restore from a backup. It measures claims, too.
package storetest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/internal/store/single/kv"
	kept "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	asked "github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A World is servers that tests share: each has a namespace of its own.
type World struct {
	// Open opens the store in a namespace until the test ends. Required.
	Open func(tb testing.TB, namespace string) kv.Store
	// NextIncarnation does what a process does that has noticed a restore. Required.
	NextIncarnation func(tb testing.TB, s kv.Store)
	// Clock: the answers carry the clock of the server.
	Clock bool
	// OneByOne: the store reads one record at a time. Then the kit of commands, which asks for hundreds
	// of thousands, runs at full length only.
	OneByOne bool
	// Old: an answer may be a moment old.
	Old bool

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
	if length.Whole() {
		kits["Locks"] = w.locks
	}
	if length.Whole() || !w.OneByOne {
		kits["Commands"] = w.commands
	}
	for name, kit := range kits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kit(t)
		})
	}
}

// rounds is how often the checks with competitors repeat.
func rounds() int { return length.Of(200, 2000) }

func (w *World) store(t *testing.T) {
	kvtest.Run(t, kvtest.Backend{New: w.open, NextIncarnation: w.NextIncarnation, Clockless: !w.Clock, Rounds: rounds()})
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
		Long: 50 * time.Second, Short: 2100 * time.Millisecond, Old: w.Old,
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
			return lockerOn(tb, s, timeout), kept.New(s, time.Second)
		},
		Short: 2100 * time.Millisecond,
		Keep:  jobs.MaxKeep,
	}
	t.Run("Ledger", func(t *testing.T) { t.Parallel(); schedtest.RunLedger(t, b) })
	t.Run("Archive", func(t *testing.T) { t.Parallel(); schedtest.RunArchive(t, b) })
	t.Run("Roster", func(t *testing.T) {
		t.Parallel()
		schedtest.RunRoster(t, schedtest.RosterBackend{New: func(tb testing.TB) roster.Roster {
			tb.Helper()
			return kept.NewRoster(w.open(tb))
		}})
	})
}

func (w *World) commands(t *testing.T) {
	schedtest.RunCommands(t, schedtest.CommandsBackend{
		New: func(tb testing.TB) asked.Store {
			tb.Helper()
			return commands.New(w.open(tb))
		}, MaxOpen: asked.MaxOpen, MaxPauses: asked.MaxPauses,
	})
}

// Restore restores a backup while replicas run. They notice it although the servers look the
// same, and so does everybody who comes later.
func (w *World) Restore(t *testing.T, backup func() (restore func())) {
	t.Helper()
	namespace, x := w.namespace(), kv.Key{Kind: kv.Claims, Name: "x"}
	s := w.Open(t, namespace)
	put := func(value string) {
		t.Helper()
		_, stamp, err := s.Read(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Commit(t.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: x, Value: []byte(value)}}})
		if err != nil || !o.Won {
			t.Fatalf("Commit = %+v, %v", o, err)
		}
	}
	put(`1`)
	restore := backup()
	put(`2`)
	put(`3`)
	_, old, err := s.Read(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	restore()
	late := kv.Txn{Incarnation: old.Incarnation, Put: []kv.Write{{Key: x, Value: []byte(`4`)}}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if o, err := s.Commit(ctx, late); !kv.Unknown(err) {
		t.Errorf("a transaction of the incarnation before = %+v, %v, want an unknown outcome", o, err)
	}
	for _, s := range []kv.Store{s, w.Open(t, namespace)} {
		_, now, err := s.Read(t.Context(), x)
		if err != nil || now.Incarnation == old.Incarnation {
			t.Errorf("the incarnation is %q, as before, %v", now.Incarnation, err)
		}
		if o, err := s.Commit(t.Context(), late); err != nil || o.Won {
			t.Errorf("a transaction of the incarnation before = %+v, %v, want it to lose", o, err)
		}
	}
}
