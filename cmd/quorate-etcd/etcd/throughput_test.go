package etcd

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/quorate/quorate/cmd/quorate-etcd/internal/etcdtest"
	"github.com/quorate/quorate/internal/onestore/claims"
	"github.com/quorate/quorate/locking"
)

// TestThroughput measures claims with their ends beside the mutex of etcd's client, on the same
// cluster: docs/etcd.md. In CI it only sees that both work.
func TestThroughput(t *testing.T) {
	rounds := 10
	if full() {
		rounds = 300
	}
	w := &world{Cluster: etcdtest.Start(t, 3)}
	session, err := concurrency.NewSession(w.Client(t))
	if err != nil {
		t.Fatal(err)
	}
	locker, base := lockerOn(t, w.declaredNew(t)), time.Now().Truncate(time.Second).Add(-time.Hour)
	for _, workers := range []int{1, 16} {
		m := meter{T: t, workers: workers, rounds: rounds}
		m.measure("concurrency.Mutex, Lock and Unlock", func(worker, _ int) error {
			mutex := concurrency.NewMutex(session, fmt.Sprintf("/mutex/%d", worker))
			if err := mutex.Lock(t.Context()); err != nil {
				return err
			}
			return mutex.Unlock(t.Context())
		})
		m.measure("a claim and its end", func(worker, n int) error {
			return claimed(t, locker, locking.Request{Name: fmt.Sprintf("%d-%d", workers, worker), Tick: base.Add(time.Duration(n) * time.Second)})
		})
	}
}

func claimed(t *testing.T, l *claims.Locker, r locking.Request) error {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), r)
	if err != nil {
		return err
	}
	return lease.Release(t.Context(), nil)
}

// A meter lets workers do something again and again, each with a lock of its own.
type meter struct {
	*testing.T
	workers, rounds int
}

func (m meter) measure(what string, do func(worker, n int) error) {
	m.Helper()
	took := make([][]time.Duration, m.workers)
	errs := make([]error, m.workers)
	var running sync.WaitGroup
	began := time.Now()
	for worker := range m.workers {
		running.Go(func() {
			for n := 0; n < m.rounds && errs[worker] == nil; n++ {
				at := time.Now()
				errs[worker] = do(worker, n)
				took[worker] = append(took[worker], time.Since(at))
			}
		})
	}
	running.Wait()
	total := time.Since(began)
	for _, err := range errs {
		if err != nil {
			m.Errorf("%s: %v", what, err)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	m.Logf("%s, %d at a time: %.0f/s, median %v, p99 %v", what, m.workers, float64(len(all))/total.Seconds(), all[len(all)/2], all[len(all)*99/100])
}
