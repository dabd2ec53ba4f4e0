package etcd

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/cmd/quorate-etcd/internal/etcdtest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/onestore/acts"
	"github.com/quorate/quorate/internal/onestore/claims"
	onestore "github.com/quorate/quorate/internal/onestore/ledger"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/storetest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	asked "github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A world is a cluster that tests share: each has a namespace of its own.
type world struct {
	*etcdtest.Cluster
	namespaces atomic.Int64
}

func (w *world) open(tb testing.TB) *server {
	tb.Helper()
	return w.openIn(tb, fmt.Sprintf("n%d", w.namespaces.Add(1)))
}

func (w *world) openIn(tb testing.TB, namespace string) *server {
	tb.Helper()
	s := open(config.Cluster{Namespace: namespace, Etcd: config.EtcdConfig{Endpoints: w.URLs()}})
	tb.Cleanup(s.Close)
	return s
}

// full reports whether the kits run at full length.
func full() bool { return os.Getenv("QUORATE_CAMPAIGN") == "full" }

// TestKits runs the kits on a real cluster: all on three members at full length, in CI those that
// take no minute on one.
func TestKits(t *testing.T) {
	t.Parallel()
	members := 1
	kits := map[string]func(*testing.T, *world){"Store": storeConforms, "Stress": stress, "Ledger": ledgerConforms, "Acts": actsConform}
	if full() {
		members = 3
		kits["Locks"] = locksConform // leases expire in real time
	}
	w := &world{Cluster: etcdtest.Start(t, members)}
	for name, test := range kits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

func storeConforms(t *testing.T, w *world) {
	b := storetest.Backend{
		New:       func(tb testing.TB) store.Store { tb.Helper(); return w.open(tb) },
		NextLife:  func(tb testing.TB, s store.Store) { tb.Helper(); nextLife(tb, s.(*server)) },
		Clockless: true, Rounds: 200,
	}
	if full() {
		b.Rounds = 10_000
	}
	storetest.Run(t, b)
}

// nextLife does what a process does that has noticed a restore.
func nextLife(tb testing.TB, s *server) {
	tb.Helper()
	err := s.do(tb.Context(), true, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Get(ctx, s.lifeKey())
		if err != nil {
			return err
		}
		known := parseLife(string(r.Kvs[0].Value))
		return s.begin(ctx, c, life{known.cluster, known.number + 1}, uint64(r.Kvs[0].ModRevision))
	})
	if err != nil {
		tb.Fatal(err)
	}
}

const timeout = 500 * time.Millisecond

func lockerOn(tb testing.TB, s store.Store) *claims.Locker {
	tb.Helper()
	l, err := claims.New(s, claims.Config{Grace: time.Minute, Timeout: timeout})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	return l
}

// declaredNew returns a store that was declared new.
func (w *world) declaredNew(tb testing.TB) *server {
	tb.Helper()
	s := w.open(tb)
	if err := claims.DeclareNew(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// replicas returns what connects further replicas to one new store.
func (w *world) replicas(tb testing.TB) func(string) locking.Locker {
	tb.Helper()
	namespace := fmt.Sprintf("n%d", w.namespaces.Add(1))
	if err := claims.DeclareNew(tb.Context(), w.openIn(tb, namespace)); err != nil {
		tb.Fatal(err)
	}
	return func(string) locking.Locker { return lockerOn(tb, w.openIn(tb, namespace)) }
}

func locksConform(t *testing.T, w *world) {
	locktest.Run(t, locktest.Backend{New: w.replicas, Long: 50 * time.Second, Short: 2100 * time.Millisecond})
}

func stress(t *testing.T, w *world) {
	cfg := locktest.StressConfig{Contenders: 20, Rounds: 200, TTL: 20 * time.Second}
	if full() {
		cfg.Rounds = 10_000
	}
	got := locktest.Stress(t, w.replicas(t), cfg)
	t.Logf("%d contenders: %v", cfg.Contenders, got)
	if got.Rounds != cfg.Rounds || got.Written != cfg.Rounds || got.Released != cfg.Rounds {
		t.Errorf("%d rounds, want %d, all written and released", got.Rounds, cfg.Rounds)
	}
}

func ledgerConforms(t *testing.T, w *world) {
	b := schedtest.LedgerBackend{
		New: func(tb testing.TB) (locking.Locker, ledger.Store) {
			tb.Helper()
			s := w.declaredNew(tb)
			return lockerOn(tb, s), onestore.New(s, time.Second)
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

func actsConform(t *testing.T, w *world) {
	schedtest.RunActs(t, schedtest.ActsBackend{
		New: func(tb testing.TB) asked.Store {
			tb.Helper()
			return acts.New(w.open(tb))
		}, MaxOpen: asked.MaxOpen, MaxPauses: asked.MaxPauses,
	})
}

// A backup is restored while replicas run. They notice it although the cluster has the same
// identity, and so does everybody who comes later.
func TestRestore(t *testing.T) {
	t.Parallel()
	w := &world{Cluster: etcdtest.Start(t, 1)}
	s, x := w.openIn(t, "n"), store.Key{Kind: store.Claims, Name: "x"}
	put := func(value string) {
		t.Helper()
		_, stamp, err := s.Read(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		o, err := s.Commit(t.Context(), store.Txn{Life: stamp.Life, Put: []store.Write{{Key: x, Value: []byte(value)}}})
		if err != nil || !o.Won {
			t.Fatalf("Commit = %+v, %v", o, err)
		}
	}
	put(`1`)
	restore := w.Backup(t)
	put(`2`)
	put(`3`)
	_, old, err := s.Read(t.Context(), x)
	if err != nil {
		t.Fatal(err)
	}
	restore()
	late := store.Txn{Life: old.Life, Put: []store.Write{{Key: x, Value: []byte(`4`)}}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if o, err := s.Commit(ctx, late); !store.Unknown(err) {
		t.Errorf("a transaction of the life before = %+v, %v, want an unknown outcome", o, err)
	}
	for _, s := range []*server{s, w.openIn(t, "n")} {
		_, now, err := s.Read(t.Context(), x)
		if err != nil || now.Life == old.Life {
			t.Errorf("the life is %q, as before, %v", now.Life, err)
		}
		if o, err := s.Commit(t.Context(), late); err != nil || o.Won {
			t.Errorf("a transaction of the life before = %+v, %v, want it to lose", o, err)
		}
	}
}
