package sim_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// The simulated database keeps the promises of a store below package sqlstore.
func TestDatabase(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]sqlDialect{"MySQL": likeMySQL(), "SQLite": likeSQLite()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var db *database
			kvtest.Run(t, kvtest.Backend{
				New: func(tb testing.TB) kv.Store {
					tb.Helper()
					db = newDatabase()
					c := newSQLClient("r", func(ctx context.Context, r sim.Request) ([]string, error) {
						if err := ctx.Err(); err != nil && r.Script != sqlQuit {
							return nil, err
						}
						mu.Lock()
						defer mu.Unlock()
						return db.Call(time.Now(), r.Script, r.Keys, r.Args)
					}, d)
					tb.Cleanup(c.Close)
					return c
				},
				NextIncarnation: func(testing.TB, kv.Store) {
					mu.Lock()
					defer mu.Unlock()
					db.server++
				},
				Rounds: 100,
			})
		})
	}
}

// What a transaction only compares does not change until it ends. In worlds of clusters nothing breaks without
// that, because each claim also changes the record of its job.
func TestComparedIsLocked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		like   sqlDialect
		spoil  func(*sqlDialect)
		breaks bool
	}{
		{"MySQL", likeMySQL(), func(*sqlDialect) {}, false},
		{"SQLite", likeSQLite(), func(*sqlDialect) {}, false},
		{"SQLite, not alone", likeSQLite(), func(d *sqlDialect) { d.Begin = begin }, true},
		{"records that are compared are not locked", likeMySQL(), func(d *sqlDialect) { d.CompareRecords = "" }, true},
		{"what must not be made is not locked", likeMySQL(), func(d *sqlDialect) { d.CompareSlots = "" }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.spoil(&tt.like)
			synctest.Test(t, func(t *testing.T) {
				if won, both := exclude(t, tt.like); won == 0 || (both > 0) != tt.breaks {
					t.Errorf("of two that exclude each other, one won %d times and both %d times", won, both)
				}
			})
		})
	}
}

// exclude lets two processes each write a record if that of the other has not changed, or in every other round,
// if it does not exist. It returns how often one of them won, and how often both.
func exclude(t *testing.T, d sqlDialect) (won, both int) {
	t.Helper()
	w := sim.NewWorld(1, sim.Weather{Delay: time.Millisecond}, []sim.Machine{newDatabase()})
	ctx, end := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.Run(ctx) })
	var stores [2]*sqlClient
	for i := range stores {
		p := w.NewProcess("r"+strconv.Itoa(i), sim.NewClock(time.Now(), 0, 0))
		stores[i] = newSQLClient(p.Name, p.Call, d)
	}
	for round := range 50 {
		wins := excludeOnce(t, stores, strconv.Itoa(round), round%2 == 1)
		won += wins % 2
		both += wins / 2
	}
	for _, s := range stores {
		s.Close()
	}
	end()
	running.Wait()
	return won, both
}

// excludeOnce returns how many won.
func excludeOnce(t *testing.T, stores [2]*sqlClient, round string, exist bool) (wins int) {
	t.Helper()
	mine := [2]kv.Key{{Kind: kv.Claims, Name: "left", Sub: round}, {Kind: kv.Claims, Name: "right", Sub: round}}
	_, now, err := stores[0].Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var made kv.Outcome
	if exist {
		if made, err = stores[0].Commit(t.Context(), kv.Txn{Incarnation: now.Incarnation, Put: []kv.Write{{Key: mine[0], Value: []byte(`0`)}, {Key: mine[1], Value: []byte(`0`)}}}); err != nil {
			t.Fatal(err)
		}
	}
	var outcomes [2]kv.Outcome
	var running sync.WaitGroup
	for i, s := range stores {
		running.Go(func() {
			var err error
			outcomes[i], err = s.Commit(t.Context(), kv.Txn{
				Incarnation: now.Incarnation, If: []kv.Compare{{Key: mine[1-i], Version: made.Version}}, Put: []kv.Write{{Key: mine[i], Value: []byte(`1`)}},
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for _, o := range outcomes {
		if o.Won {
			wins++
		}
	}
	return wins
}
