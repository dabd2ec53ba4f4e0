package ownstore

import (
	"path/filepath"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/quorate/quorate/dev/testkit/storetest"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// Of the kits that the product's own stores pass, these do not fit a file of one process:
//
//   - campaigntest kills and freezes replicas that are processes, and expects the others to go on. Here the
//     others wait for the file, also while the process that has it is frozen. It reads listings by commands,
//     which would wait, too. TestKilled kills the one process.
//   - World.Restore expects that nobody knows what became of the first commit after a restore. This store
//     notices the other file before it begins, and says that the commit has lost: see TestLife.
//
// Kits of rights, logins, certificates and cut connections, and those of Finish and Trigger, are about
// servers, and about transactions of jobs. This store has neither.

// newServer returns a store until the test ends.
func newServer(tb testing.TB, path, namespace string) *server {
	tb.Helper()
	s := &server{path: path, namespace: namespace}
	tb.Cleanup(s.Close)
	return s
}

// newWorld is a directory with a file for each namespace. All that open one share its server, since another
// one would wait for the file.
func newWorld(tb testing.TB) *storetest.World {
	tb.Helper()
	dir, servers := tb.TempDir(), sync.Map{}
	return &storetest.World{
		Open: func(_ testing.TB, namespace string) kv.Store {
			s, known := servers.LoadOrStore(namespace, &server{path: filepath.Join(dir, namespace), namespace: namespace})
			if !known {
				tb.Cleanup(s.(*server).Close)
			}
			return s.(*server)
		},
		NextIncarnation: func(tb testing.TB, s kv.Store) {
			tb.Helper()
			path := s.(*server).path
			backup(tb, s.(*server), path+".copy")
			rename(tb, path+".copy", path)
		},
		Clock: true,
	}
}

// TestKits runs the kits of the store, of locks, ledger, roster and commands; that of locks at full length.
func TestKits(t *testing.T) {
	t.Parallel()
	newWorld(t).Run(t)
}

// TestRefusedEnds lets runs end while the disk hangs.
func TestRefusedEnds(t *testing.T) {
	t.Parallel()
	storetest.RefusedEnds(t, func(t *testing.T) storetest.Refusing {
		t.Helper()
		s := newServer(t, filepath.Join(t.TempDir(), "quorate.bolt"), "n")
		if err := claims.DeclareNew(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var hanging *bolt.Tx
		return storetest.Refusing{
			Open:    func(testing.TB) kv.Server { return s },
			Refuse:  func(tb testing.TB) { tb.Helper(); hanging = hang(tb, s) },
			Restore: func(tb testing.TB) { tb.Helper(); release(tb, hanging) },
		}
	})
}

// TestThroughput measures claims beside transactions of bbolt.
func TestThroughput(t *testing.T) {
	t.Parallel()
	f, err := newServer(t, filepath.Join(t.TempDir(), "peer.bolt"), "n").open()
	if err != nil {
		t.Fatal(err)
	}
	newWorld(t).Throughput(t, "a transaction of bbolt", func(name string) error {
		return f.db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("peers"))
			if err != nil {
				return err
			}
			return b.Put([]byte(name), []byte("1"))
		})
	})
}

// hang makes all commits wait, as a disk does that hangs.
func hang(tb testing.TB, s *server) *bolt.Tx {
	tb.Helper()
	f, err := s.open()
	if err != nil {
		tb.Fatal(err)
	}
	tx, err := f.db.Begin(true)
	if err != nil {
		tb.Fatal(err)
	}
	return tx
}

func release(tb testing.TB, hanging *bolt.Tx) {
	tb.Helper()
	if err := hanging.Rollback(); err != nil {
		tb.Error(err)
	}
}
