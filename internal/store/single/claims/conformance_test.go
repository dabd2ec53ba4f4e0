package claims_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// open opens a Locker on the store, until the test ends.
func open(tb testing.TB, m *kvtest.Memory) *claims.Locker {
	tb.Helper()
	l, err := claims.New(m, claims.Config{TTL: ttl, Grace: grace, Timeout: timeout})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

const (
	ttl     = 30 * time.Second
	grace   = 40 * time.Second
	timeout = 200 * time.Millisecond
)

// newStore returns a store that was declared new, with the limits of PostgreSQL.
func newStore(tb testing.TB, clockless bool) *kvtest.Memory {
	tb.Helper()
	m := &kvtest.Memory{Clockless: clockless, Bounds: new(postgres.Store).Limits()}
	if err := claims.DeclareNew(tb.Context(), m); err != nil {
		tb.Fatal(err)
	}
	return m
}

func TestConforms(t *testing.T) {
	t.Parallel()
	conforms(t, false)
}

func TestConformsWithoutClock(t *testing.T) {
	t.Parallel()
	conforms(t, true)
}

func conforms(t *testing.T, clockless bool) {
	t.Helper()
	locktest.Run(t, locktest.Backend{
		New: func(tb testing.TB) func(string) locking.Locker {
			tb.Helper()
			m := newStore(tb, clockless)
			return func(string) locking.Locker { return open(tb, m) }
		},
		Short: 1400 * time.Millisecond, // more than four timeouts
		Bubble: func(t *testing.T, check func(t *testing.T)) {
			t.Helper()
			synctest.Test(t, check)
		},
	})
}

func TestStress(t *testing.T) {
	t.Parallel()
	for _, clockless := range []bool{false, true} {
		m := newStore(t, clockless)
		stressed(t, func(string) locking.Locker { return open(t, m) })
	}
}

// stressed lets twenty contenders lock, extend and release; no guarded update is lost.
func stressed(t *testing.T, connect func(string) locking.Locker) {
	t.Helper()
	cfg := locktest.StressConfig{Contenders: 20, Rounds: length.Of(300, 2000), TTL: 10 * time.Second}
	got := locktest.Stress(t, connect, cfg)
	t.Logf("%d contenders: %v", cfg.Contenders, got)
	if got.Rounds != cfg.Rounds || got.Written != cfg.Rounds || got.Released != cfg.Rounds {
		t.Errorf("%d rounds, want %d, all written and released", got.Rounds, cfg.Rounds)
	}
}
