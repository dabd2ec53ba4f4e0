package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/locking"
)

// Throughput measures claims with their ends beside a lock of the store's own client, on the same
// servers. In CI it only sees that both work.
func (w *World) Throughput(t *testing.T, peer string, lockAndUnlock func(name string) error) {
	t.Helper()
	rounds := 10
	if Full() {
		rounds = 300
	}
	locker, base := lockerOn(t, w.declaredNew(t), 3*time.Second), time.Now().Truncate(time.Second).Add(-time.Hour)
	for _, workers := range []int{1, 16} {
		m := meter{T: t, workers: workers, rounds: rounds}
		m.measure(peer, func(worker, _ int) error { return lockAndUnlock(fmt.Sprint(worker)) })
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
