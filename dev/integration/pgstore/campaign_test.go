package pgstore_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// TestCampaignKits runs all kits with the role of a replica, and behind PgBouncer; as a
// sample, locks compete for a moment.
func TestCampaignKits(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	for way, url := range map[string]string{"Direct": w.urlAs("replica"), "PgBouncer": w.Bouncer(t)} {
		t.Run(way, func(t *testing.T) {
			stressed(t, w, url)
			if !length.Whole() {
				return
			}
			t.Run("Store", func(t *testing.T) {
				kvtest.Run(t, kvtest.Backend{New: func(t testing.TB) kv.Store { return w.open(t, url) }, Rounds: 2000})
			})
			t.Run("Locks", func(t *testing.T) {
				locktest.Run(t, locktest.Backend{
					New:   func(tb testing.TB) func(string) locking.Locker { tb.Helper(); return w.lockers(tb, url) },
					Short: 1400 * time.Millisecond, // more than four timeouts
				})
			})
			t.Run("Ledger", func(t *testing.T) { ledgerConforms(t, w, url) })
			t.Run("Commands", func(t *testing.T) { commandsConformAt(t, w, url) })
		})
	}
}

// stressed lets contenders add to one counter, which only a lock guards. None is lost.
func stressed(t *testing.T, w *world, url string) {
	t.Helper()
	cfg := locktest.StressConfig{Contenders: 20, Rounds: length.Of(100, 2000), TTL: 10 * time.Second}
	got := locktest.Stress(t, w.lockers(t, url), cfg)
	t.Logf("%s: %d contenders: %v", t.Name(), cfg.Contenders, got)
	if got.Rounds != cfg.Rounds || got.Written != cfg.Rounds || got.Released != cfg.Rounds {
		t.Errorf("%d rounds, want %d, all written and released", got.Rounds, cfg.Rounds)
	}
}

// lockers connects replicas to a store of their own.
func (w *world) lockers(tb testing.TB, url string) func(string) locking.Locker {
	tb.Helper()
	schema := w.migrated(tb)
	if err := claims.DeclareNew(tb.Context(), w.openIn(tb, schema, url)); err != nil {
		tb.Fatal(err)
	}
	return func(string) locking.Locker {
		tb.Helper()
		l, err := claims.New(w.openIn(tb, schema, url+"&pool_max_conns=4"), claims.Config{
			TTL: 30 * time.Second, Grace: 40 * time.Second, Timeout: 300 * time.Millisecond,
		})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = l.Close() })
		return l
	}
}
