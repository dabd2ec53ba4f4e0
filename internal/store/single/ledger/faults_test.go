package ledger

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Without an answer every method says so.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.Fault = func(context.Context, kvtest.Call) error { return errors.New("cut off") }
	r := NewRoster(c.Memory)
	q := ledger.Query{Job: "job", Limit: 1}
	ctx := t.Context()
	for name, call := range map[string]func() error{
		"Record": func() error { _, err := c.Record(ctx, skipped("job", 1, "")); return err },
		"Runs":   func() error { _, err := c.Runs(ctx, q); return err },
		"Ticks":  func() error { _, err := c.Ticks(ctx, q); return err },
		"Skim":   func() error { _, err := c.Skim(ctx, []ledger.Stretch{{Job: "job"}}, true); return err },
		"Store": func() error {
			return c.Store(ctx, "job", jobs.History{}, ledger.Log{Job: "job", Tick: tick(1), Token: 1})
		},
		"Log":       func() error { _, err := c.Ledger.Log(ctx, "job", tick(1), 1); return err },
		"Trim":      func() error { return c.Trim(ctx, "job") },
		"Beat":      func() error { _, err := r.Beat(ctx, roster.Replica{ID: "a"}); return err },
		"Replicas":  func() error { _, err := r.Replicas(ctx); return err },
		"Leave":     func() error { return r.Leave(ctx, roster.Replica{ID: "a"}) },
		"Publish":   func() error { return r.Publish(ctx, []roster.JobInfo{{Name: "job"}}) },
		"Unpublish": func() error { return r.Unpublish(ctx, []roster.JobInfo{{Name: "job"}}) },
		"Jobs":      func() error { _, err := r.Jobs(ctx); return err },
		"RenewSet":  func() error { _, err := r.RenewSet(ctx, "c1"); return err },
		"KeepSet":   func() error { return r.KeepSet(ctx, "c1", nil) },
		"JobSet":    func() error { _, err := r.JobSet(ctx, "c1"); return err },
	} {
		if err := call(); !errors.Is(err, locking.ErrNoQuorum) {
			t.Errorf("%s = %v, want ErrNoQuorum", name, err)
		}
	}
	if _, known := c.RemembersSince(); known {
		t.Error("it is known since when a silent store remembers")
	}
}

// Of replicas that record a tick at once, through a store that loses requests and answers and
// delays commits, at most one learns that it was first. The record that outranks all others
// that got through stays, and nobody is told that a lower one did.
func TestRecordsUnderFaults(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		faults := rapid.SliceOfN(rapid.IntRange(0, 5), 40, 40).Draw(rt, "faults")
		ranks := rapid.SliceOfN(rapid.IntRange(0, 2), 2, 5).Draw(rt, "ranks")
		var wrong string
		synctest.Test(t, func(t *testing.T) { wrong = recordUnderFaults(t, faults, ranks) })
		if wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// recordUnderFaults returns what was wrong.
func recordUnderFaults(t *testing.T, faults, ranks []int) string {
	t.Helper()
	c := newCluster(t)
	entries := make([]ledger.Entry, len(ranks))
	for i, rank := range ranks {
		entries[i] = skipped("job", 1, fmt.Sprint("by ", i))
		switch rank {
		case 0:
			entries[i].Outcome, entries[i].Reason = ledger.Missed, ledger.Reason{Code: ledger.CodeDrained}
		case 1:
			entries[i].Outcome = ledger.Missed
		}
		entries[i].Replica = fmt.Sprint(i)
	}
	var mu sync.Mutex
	c.Fault = func(context.Context, kvtest.Call) error {
		mu.Lock()
		f := 3
		if len(faults) > 0 {
			f, faults = faults[0], faults[1:]
		}
		left := len(faults)
		mu.Unlock()
		switch f {
		case 0:
			return errors.New("lost")
		case 1:
			time.Sleep(time.Duration(left%7) * time.Second)
		}
		return nil
	}
	firsts, recorded := 0, make([]bool, len(entries))
	var running sync.WaitGroup
	for i, e := range entries {
		running.Go(func() {
			for range 50 {
				was, err := c.Record(t.Context(), e)
				mu.Lock()
				if was {
					firsts++
				}
				mu.Unlock()
				if recorded[i] = err == nil; err == nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
	}
	running.Wait()
	c.Fault = nil
	list, err := c.Ticks(t.Context(), ledger.Query{Job: "job", Limit: 10})
	if err != nil || len(list) != 1 {
		return fmt.Sprintf("Ticks = %+v, %v, want one", list, err)
	}
	if firsts > 1 {
		return fmt.Sprintf("%d replicas were the first", firsts)
	}
	for i, e := range entries {
		if !recorded[i] {
			return fmt.Sprintf("replica %d never got an answer", i)
		}
		if e.Rank() > list[0].Rank() {
			return fmt.Sprintf("the record of rank %c stays, beside one of rank %c", list[0].Rank(), e.Rank())
		}
	}
	return ""
}

// The answer to the first record is lost: the replica finds its own record, and still learns
// that it was first.
func TestFirstDespiteALostAnswer(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	lost := false
	c.Fault = func(_ context.Context, call kvtest.Call) error {
		if call.Method == "Commit" && call.Answered && !lost {
			lost = true
			return errors.New("cut off")
		}
		return nil
	}
	for _, want := range []bool{true, false} {
		if was, err := c.Record(t.Context(), skipped("job", 1, "busy")); err != nil || was != want {
			t.Errorf("Record = %t, %v, want %t", was, err, want)
		}
	}
}

// A log of a run in progress that arrives late does not replace that of its end.
func TestLateLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		final := ledger.Log{Job: "job", Tick: tick(1), Token: 7, Text: "all of it"}
		early := final
		early.Text, early.At, early.Run = "all", time.Now(), started("job", 1)
		c.Fault = func(_ context.Context, call kvtest.Call) error {
			if call.Method == "Commit" && !call.Answered {
				c.Fault = nil
				time.Sleep(time.Second) // meanwhile the run ends
			}
			return nil
		}
		var storing sync.WaitGroup
		storing.Go(func() {
			if err := c.Store(t.Context(), "job", jobs.History{}, early); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if err := c.Store(t.Context(), "job", jobs.History{}, final); err != nil {
			t.Error(err)
		}
		storing.Wait()
		if got, err := c.Ledger.Log(t.Context(), "job", tick(1), 7); err != nil || got != final {
			t.Errorf("the log is %+v, %v, want that of the end", got, err)
		}
	})
}
