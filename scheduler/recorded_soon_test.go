package scheduler_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A timedLedger is slow, and records when it first had each entry.
type timedLedger struct {
	ledger.Store
	slow time.Duration

	mu    sync.Mutex
	first map[string]time.Time // by job and tick
}

func (l *timedLedger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	time.Sleep(l.slow)
	first, err = l.Store.Record(ctx, e)
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.first[e.ID()]; !known && err == nil {
		l.first[e.ID()] = time.Now()
	}
	return first, err
}

// settledIn is the longest time from a tick to its outcome in the ledger: the claim window
// and the record of docs/guarantees/ledger.md.
const settledIn = 10*time.Second + 15*time.Second

// Every tick that three replicas could not claim is in the ledger in time, although each
// answer of the nodes is late and one replica decides slowly.
func TestOutcomesAreInTheLedgerInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n, rounds = 250, 2
		c := newCluster(t)
		c.locker = &scripted{locks: c.locks, reasons: []error{locking.ErrNoQuorum}, repeat: true, slow: 190 * time.Millisecond}
		store := &timedLedger{Store: c.ledger, slow: 190 * time.Millisecond, first: map[string]time.Time{}}
		var list []jobs.Job
		for i := range n {
			list = append(list, jobs.Job{
				Name: fmt.Sprintf("job-%03d", i), Schedule: schedule.Every{Interval: 5 * time.Second},
				Handler: c.handler(func(context.Context, jobs.Run) error { return nil }),
			})
		}
		begun := time.Now().Truncate(5 * time.Second).Add(5 * time.Second)
		for _, id := range []string{"a", "b", "busy"} {
			stop := c.start(c.replica(id, func(cfg *scheduler.Config) {
				cfg.Ledger = store
				if id == "busy" {
					on(cfg, event.Decided, func(event.Event) { time.Sleep(10 * time.Millisecond) })
				}
			}, list...))
			defer func() { _ = stop() }()
		}
		time.Sleep(rounds*5*time.Second + settledIn)
		store.mu.Lock()
		defer store.mu.Unlock()
		var latest time.Duration
		for _, job := range list {
			for r := range rounds {
				tick := begun.Add(time.Duration(r) * 5 * time.Second)
				at, known := store.first[ledger.Entry{Job: job.Name, Tick: tick}.ID()]
				if took := at.Sub(tick); !known || took > settledIn {
					t.Fatalf("%s %v is in the ledger: %v, after %v; want it after %v at most", job.Name, c.at(tick), known, took, settledIn)
				}
				latest = max(latest, at.Sub(tick))
			}
		}
		t.Logf("the latest of %d outcomes was in the ledger %v after its tick", n*rounds, latest)
	})
}
