package sim_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// The simulated database keeps the promises that package sqlstore needs.
func TestDatabase(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var db *database
	kvtest.Run(t, kvtest.Backend{
		New: func(t testing.TB) kv.Store {
			t.Helper()
			db = newDatabase()
			c := newSQLClient("r", func(ctx context.Context, r sim.Request) ([]string, error) {
				if err := ctx.Err(); err != nil && r.Script != sqlQuit {
					return nil, err
				}
				mu.Lock()
				defer mu.Unlock()
				return db.Call(time.Now(), r.Script, r.Keys, r.Args)
			}, sqlTexts())
			t.Cleanup(c.Close)
			return c
		},
		NextIncarnation: func(testing.TB, kv.Store) {
			mu.Lock()
			defer mu.Unlock()
			db.server++
		},
		Rounds: 100,
	})
}
