package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A Refusing is a store in a namespace of its own, declared new, that can refuse what replicas ask.
type Refusing struct {
	// Open opens it as a replica does, until the test ends.
	Open func(tb testing.TB) kv.Server
	// Refuse makes it refuse from now on, Restore serve again; nil: it does so by itself.
	Refuse, Restore func(tb testing.TB)
}

const (
	refusedFor   = 1500 * time.Millisecond
	refusedTTL   = 5 * time.Second
	refusedEvery = 6 * time.Second // so another attempt would come before the next tick
)

// RefusedEnds lets runs end while the store refuses for 1.5 s: with a lease of 5 s there is time
// to record that they have succeeded, and nobody runs their ticks again. A claim waits as long.
// With -short an end is tried with rerun alone, where a lost one runs again, and a claim with skip.
func RefusedEnds(t *testing.T, open func(t *testing.T) Refusing) {
	t.Helper()
	for name, c := range map[string]struct {
		onCrash jobs.OnCrash
		claim   bool // it is refused, not the end
	}{
		"skip": {onCrash: jobs.CrashSkip}, "rerun": {onCrash: jobs.CrashRerun},
		"claim, skip": {jobs.CrashSkip, true}, "claim, rerun": {jobs.CrashRerun, true},
	} {
		if testing.Short() && c.claim == (c.onCrash == jobs.CrashRerun) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open(t).ends(t, c.onCrash, c.claim)
		})
	}
}

func (r Refusing) ends(t *testing.T, onCrash jobs.OnCrash, claim bool) {
	spec, err := schedule.Parse("@every "+refusedEvery.String(), schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	refuse := func() {
		r.Refuse(t)
		if r.Restore != nil {
			running.Go(func() { <-time.After(refusedFor); r.Restore(t) })
		}
	}
	var mu sync.Mutex
	var ran []time.Time // ticks
	job := jobs.Job{Name: "job", Schedule: spec, OnCrash: onCrash, Handler: func(_ context.Context, run jobs.Run) error {
		mu.Lock()
		defer mu.Unlock()
		if ran = append(ran, run.Tick); len(ran) == 1 && !claim {
			refuse()
		}
		return nil
	}}
	var c *single.Cluster
	for _, id := range []string{"a", "b"} {
		if c, err = single.Open(r.Open(t), claims.Config{TTL: refusedTTL}, nil); err != nil {
			t.Fatal(err)
		}
		s, err := scheduler.New(scheduler.Config{Replica: id, Stores: store.ForScheduler(c), TTL: refusedTTL}, []jobs.Job{job})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = s.Run(ctx) })
	}
	if claim {
		<-time.After(time.Until(time.Now().Truncate(refusedEvery).Add(refusedEvery - 200*time.Millisecond)))
		refuse()
	}
	later := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(ran) > 0 && ran[len(ran)-1].After(ran[0])
	}
	for until := time.Now().Add(time.Minute); !later(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no later tick has run")
		}
	}
	list, err := c.Ledger.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(slices.Compact(slices.Clone(ran))) != len(ran) {
		t.Errorf("a tick ran twice: %v", ran)
	}
	for _, e := range list {
		if e.Tick.Before(ran[len(ran)-1]) && (e.Outcome != ledger.Succeeded || e.Attempt != 1) {
			t.Errorf("tick %v: %s %s, attempt %d", e.Tick, e.Outcome, e.Reason, e.Attempt)
		}
	}
}
