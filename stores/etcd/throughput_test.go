package etcd

import (
	"testing"

	"go.etcd.io/etcd/client/v3/concurrency"
)

// TestThroughput measures claims beside the mutex of etcd's client: docs/etcd.md.
func TestThroughput(t *testing.T) {
	w, c := newWorld(t, 3)
	session, err := concurrency.NewSession(c.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	w.Throughput(t, "concurrency.Mutex, Lock and Unlock", func(name string) error {
		mutex := concurrency.NewMutex(session, "/mutex/"+name)
		if err := mutex.Lock(t.Context()); err != nil {
			return err
		}
		return mutex.Unlock(t.Context())
	}, 1, 16)
}
