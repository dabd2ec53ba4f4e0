package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/locking"
)

// Throughput measures claims with their ends beside what a peer does, on the same servers. It does so for each
// number of workers that work in parallel, each with a name of its own. Both sides are measured in turn, and what counts
// are the medians of the pairs. In CI it only sees that both work.
func (w *World) Throughput(t *testing.T, peer string, do func(name string) error, workers ...int) {
	t.Helper()
	locker, tick := lockerOn(t, w.declaredNew(t), 3*time.Second), atomic.Int64{}
	tick.Store(time.Now().Add(-30 * 24 * time.Hour).Unix()) // none of them lies in the future
	claim := func(worker int) (locking.Lease, error) {
		return locker.TryAcquire(t.Context(), locking.Request{Name: fmt.Sprint(worker), Tick: time.Unix(tick.Add(1), 0)})
	}
	peers := side{peer, func(worker int) (time.Duration, error) {
		start := time.Now()
		err := do(fmt.Sprint(worker))
		return time.Since(start), err
	}}
	ends := side{"a claim and its end", func(worker int) (time.Duration, error) {
		start := time.Now()
		lease, err := claim(worker)
		if err == nil {
			err = lease.Release(t.Context(), nil)
		}
		return time.Since(start), err
	}}
	claims := side{"a claim", func(worker int) (time.Duration, error) {
		start := time.Now()
		lease, err := claim(worker)
		took := time.Since(start)
		if err == nil {
			err = lease.Release(t.Context(), nil)
		}
		return took, err
	}}
	for _, n := range workers {
		m := meter{T: t, workers: n, rounds: length.Of(10, 100)}
		m.compare(ends, peers, "of the rate", func(s speed) float64 { return s.perSecond })
		if n == 1 {
			m.compare(claims, peers, "times the median", func(s speed) float64 { return s.median.Seconds() })
		}
	}
}

// A side is something that each worker does again and again. It returns how long took what is measured.
type side struct {
	name string
	do   func(worker int) (time.Duration, error)
}

// A speed is what was measured of a side.
type speed struct {
	perSecond   float64
	median, p99 time.Duration
}

// A meter measures with so many workers, who do something so many times each.
type meter struct {
	*testing.T
	workers, rounds int
}

// compare measures two sides in turn, and tells the ratio of what figure has of both.
func (m meter) compare(ours, theirs side, what string, figure func(speed) float64) {
	m.Helper()
	var mine, others []speed
	var ratios []float64
	for pair := range length.Of(1, 5) {
		mine, others = append(mine, m.measure(ours)), append(others, m.measure(theirs))
		ratios = append(ratios, figure(mine[pair])/figure(others[pair]))
	}
	m.tell(ours, mine)
	m.tell(theirs, others)
	slices.Sort(ratios)
	m.Logf("%s, %d in parallel: %.2f %s of %s (%.2f–%.2f)", ours.name, m.workers, ratios[len(ratios)/2], what, theirs.name, ratios[0], ratios[len(ratios)-1])
}

// tell tells the measurement in the middle.
func (m meter) tell(s side, measured []speed) {
	m.Helper()
	slices.SortFunc(measured, func(a, b speed) int { return int(a.perSecond - b.perSecond) })
	middle := measured[len(measured)/2]
	m.Logf("%s, %d in parallel: %.0f/s, median %v, p99 %v", s.name, m.workers, middle.perSecond, middle.median, middle.p99)
}

func (m meter) measure(s side) speed {
	m.Helper()
	took := make([][]time.Duration, m.workers)
	errs := make([]error, m.workers)
	var running sync.WaitGroup
	began := time.Now()
	for worker := range m.workers {
		running.Go(func() {
			for n := 0; n < m.rounds && errs[worker] == nil; n++ {
				one, err := s.do(worker)
				took[worker], errs[worker] = append(took[worker], one), err
			}
		})
	}
	running.Wait()
	total := time.Since(began)
	for _, err := range errs {
		if err != nil {
			m.Errorf("%s: %v", s.name, err)
		}
	}
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	return speed{float64(len(all)) / total.Seconds(), all[len(all)/2], all[len(all)*99/100]}
}
