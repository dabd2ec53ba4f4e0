package pgstore_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/onestore"
	"github.com/quorate/quorate/internal/onestore/claims"
	"github.com/quorate/quorate/internal/store/postgres/pgtest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A run that ends while the role lacks a right for 1.5 s has succeeded, and nobody runs its tick
// again: with a lease of 5 s there is time to record it. A claim waits as long.
func TestRefusedEndOnPostgres(t *testing.T) {
	t.Parallel()
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica LOGIN PASSWORD 'hush'`)
	for name, c := range map[string]struct {
		onCrash scheduler.OnCrash
		claim   bool // it is refused, not the end
	}{
		"skip": {onCrash: scheduler.CrashSkip}, "rerun": {onCrash: scheduler.CrashRerun},
		"claim, skip": {scheduler.CrashSkip, true}, "claim, rerun": {scheduler.CrashRerun, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.refusedEnd(t, c.onCrash, c.claim)
		})
	}
}

const every = 6 * time.Second

func (w *world) refusedEnd(t *testing.T, onCrash scheduler.OnCrash, claim bool) {
	schema := w.migrated(t)
	if err := claims.DeclareNew(t.Context(), w.openIn(t, schema, w.URL())); err != nil {
		t.Fatal(err)
	}
	commits := ` EXECUTE ON ALL FUNCTIONS IN SCHEMA ` + pgx.Identifier{schema}.Sanitize()
	refuse := func() {
		w.exec(t, `REVOKE`+commits+` FROM replica`)
		time.AfterFunc(1500*time.Millisecond, func() { w.exec(t, `GRANT`+commits+` TO replica`) })
	}
	spec, err := schedule.Parse("@every "+every.String(), schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var runs []jobs.Run
	job := scheduler.Job{Name: "job", Schedule: spec, OnCrash: onCrash, Handler: func(_ context.Context, run jobs.Run) error {
		mu.Lock()
		defer mu.Unlock()
		if runs = append(runs, run); len(runs) == 1 && !claim {
			refuse()
		}
		return nil
	}}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var c *onestore.Cluster
	for _, id := range []string{"a", "b"} {
		c, err = onestore.Open(w.openIn(t, schema, w.urlAs("replica")), claims.Config{TTL: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		s, err := scheduler.New(scheduler.Config{Replica: id, Stores: c.Stores(), Timing: scheduler.Timing{TTL: 5 * time.Second}}, []scheduler.Job{job})
		if err != nil {
			t.Fatal(err)
		}
		running.Go(func() { _ = s.Run(ctx) })
	}
	if claim {
		<-time.After(time.Until(time.Now().Truncate(every).Add(every - 200*time.Millisecond)))
		refuse()
	}
	later := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(runs) > 0 && runs[len(runs)-1].Tick.After(runs[0].Tick)
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
	first := runs[0].Tick
	if n := len(slices.DeleteFunc(slices.Clone(runs), func(r jobs.Run) bool { return !r.Tick.Equal(first) })); n != 1 {
		t.Errorf("the tick ran %d times", n)
	}
	for _, e := range list {
		if e.Tick.Equal(first) && (e.Outcome != ledger.Succeeded || e.Attempt != 1) || e.Outcome == ledger.Missed || e.Outcome == ledger.Interrupted {
			t.Errorf("tick %v: %s %s, attempt %d", e.Tick, e.Outcome, e.Reason, e.Attempt)
		}
	}
}
