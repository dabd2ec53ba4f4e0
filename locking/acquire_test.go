package locking_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// refusing is a Locker that grants nothing.
type refusing struct {
	why func(n int) error // of the n-th try, from 1

	mu    sync.Mutex
	tries []time.Time
}

func (r *refusing) TryAcquire(context.Context, locking.Request) (locking.Lease, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tries = append(r.tries, time.Now())
	return nil, r.why(len(r.tries))
}

func refuseFor(reason error) func(int) error {
	return func(int) error { return &locking.AcquireError{Reason: reason, Name: "j"} }
}

func TestAcquireRetriesWhatMayPass(t *testing.T) {
	t.Parallel()
	tick := time.Unix(1_700_000_000, 0)
	for name, tt := range map[string]struct {
		why   error
		tick  time.Time
		again bool
	}{
		"taken":            {locking.ErrTaken, tick, true},
		"split":            {locking.ErrSplit, tick, true},
		"no quorum":        {locking.ErrNoQuorum, tick, true},
		"too slow":         {locking.ErrTooSlow, tick, true},
		"claimed":          {locking.ErrClaimed, tick, true},
		"unvouched, plain": {locking.ErrUnvouched, time.Time{}, true},
		"unvouched, tick":  {locking.ErrUnvouched, tick, false},
		"done":             {locking.ErrDone, tick, false},
		"superseded":       {locking.ErrSuperseded, tick, false},
		"refused":          {locking.ErrRefused, tick, true},
		"future":           {locking.ErrFuture, tick, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := &refusing{why: refuseFor(tt.why)}
				lease, err := locking.Acquire(t.Context(), l, locking.Request{Name: "j", Tick: tt.tick}, locking.Retry{Tries: 4})
				if lease != nil || !errors.Is(err, tt.why) {
					t.Errorf("Acquire = %v, %v, want %v", lease, err, tt.why)
				}
				if _, ok := errors.AsType[*locking.AcquireError](err); !ok {
					t.Errorf("Acquire = %T, want an *AcquireError", err)
				}
				want := 1
				if tt.again {
					want = 4
				}
				if len(l.tries) != want || tt.again != strings.Contains(err.Error(), "after 4 tries") {
					t.Errorf("%d tries, and %q, want %d tries", len(l.tries), err, want)
				}
			})
		})
	}
}

// A request that no node could grant is a mistake of the caller.
func TestAcquireDoesNotRepeatMistakes(t *testing.T) {
	t.Parallel()
	wrong := errors.New("no name")
	l := &refusing{why: func(int) error { return wrong }}
	if _, err := locking.Acquire(t.Context(), l, locking.Request{}, locking.Retry{}); !errors.Is(err, wrong) || len(l.tries) != 1 {
		t.Errorf("Acquire = %v after %d tries, want %v after one", err, len(l.tries), wrong)
	}
	if _, err := locking.Acquire(t.Context(), l, locking.Request{}, locking.Retry{Min: time.Second, Max: 1}); err == nil || len(l.tries) != 1 {
		t.Errorf("Acquire with a wrong Retry = %v after %d tries, want an error and no try", err, len(l.tries)-1)
	}
}

func TestAcquireEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &refusing{why: refuseFor(locking.ErrTaken)}
		for _, limit := range []time.Duration{0, time.Millisecond, 10 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			begun := time.Now()
			_, err := locking.Acquire(ctx, l, locking.Request{Name: "j"}, locking.Retry{Tries: -1})
			if !errors.Is(err, locking.ErrTaken) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("Acquire = %v, want %v joined with %v", err, locking.ErrTaken, context.DeadlineExceeded)
			}
			if took := time.Since(begun); took != limit {
				t.Errorf("Acquire took %v of the %v its context had", took, limit)
			}
			cancel()
		}
		if len(l.tries) < 40 {
			t.Errorf("%d tries, want more than the default allows", len(l.tries))
		}
	})
}

// Pauses lie between Min and a limit that doubles up to Max, and differ.
func TestAcquirePausesWithFullJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &refusing{why: refuseFor(locking.ErrSplit)}
		retry := locking.Retry{Tries: 200, Min: 10 * time.Millisecond, Max: 100 * time.Millisecond}
		_, _ = locking.Acquire(t.Context(), l, locking.Request{Name: "j"}, retry)
		limit, longest, seen := retry.Min, time.Duration(0), map[time.Duration]bool{}
		for i, at := range l.tries[1:] {
			limit = min(2*limit, retry.Max)
			pause := at.Sub(l.tries[i])
			if pause < retry.Min || pause > limit {
				t.Errorf("pause %d is %v, want %v to %v", i+1, pause, retry.Min, limit)
			}
			longest, seen[pause] = max(longest, pause), true
		}
		if longest < retry.Max*3/4 || len(seen) < 100 {
			t.Errorf("200 pauses are %d different ones up to %v, want jitter up to %v", len(seen), longest, retry.Max)
		}
	})
}

// Near the end of a lease, callers wait for it, and then do not all ask at once.
func TestAcquireWaitsForTheEndOfALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(150 * time.Millisecond)
		why := func(int) error { return &locking.AcquireError{Reason: locking.ErrTaken, Until: end} }
		var lockers [20]refusing
		var wg sync.WaitGroup
		for i := range lockers {
			lockers[i].why = why
			wg.Go(func() {
				_, _ = locking.Acquire(t.Context(), &lockers[i], locking.Request{}, locking.Retry{Tries: 2})
			})
		}
		wg.Wait()
		instants := map[time.Time]bool{}
		for i := range lockers {
			again := lockers[i].tries[1]
			if again.Before(end) {
				t.Errorf("asked again %v before the lease ends", end.Sub(again))
			}
			instants[again] = true
		}
		if len(instants) < 15 {
			t.Errorf("20 that wait ask again at %d different instants", len(instants))
		}
	})
}

func TestAcquireTakesALeaseThatEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		locks := new(locktest.Memory)
		req := locking.Request{Name: "j", TTL: ttl}
		first, err := locks.TryAcquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		second, err := locking.Acquire(t.Context(), locks, req, locking.Retry{Tries: -1})
		if err != nil || second.Claim().Token <= first.Claim().Token {
			t.Fatalf("Acquire = %v, %v, want a lease with a larger token", second, err)
		}
		if late := time.Since(first.Deadline()); late < 0 || late > locking.DefaultMaxPause {
			t.Errorf("acquired %v after the lease had ended", late)
		}
	})
}

func TestRetryDefaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, want locking.Retry }{
		"none":       {locking.Retry{}, locking.Retry{Tries: 32, Min: 20 * time.Millisecond, Max: 250 * time.Millisecond}},
		"small max":  {locking.Retry{Max: 5}, locking.Retry{Tries: 32, Min: 5, Max: 5}},
		"large min":  {locking.Retry{Min: time.Minute}, locking.Retry{Tries: 32, Min: time.Minute, Max: time.Minute}},
		"no bound":   {locking.Retry{Tries: -1, Min: 1, Max: 2}, locking.Retry{Tries: -1, Min: 1, Max: 2}},
		"one second": {locking.Retry{Tries: 1, Max: time.Second}, locking.Retry{Tries: 1, Min: 20 * time.Millisecond, Max: time.Second}},
	} {
		got := tt.in.WithDefaults()
		if got != tt.want || got.Validate() != nil {
			t.Errorf("%s: %+v with defaults is %+v (%v), want %+v", name, tt.in, got, got.Validate(), tt.want)
		}
	}
	for _, bad := range []locking.Retry{{Min: 2, Max: 1}, {Min: -1}, {Max: -1}} {
		if bad.WithDefaults().Validate() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// extending is a lease of its own kind whose extensions are the test's.
type extending struct {
	locking.Lease
	extend func() error
}

func (e extending) Extend(context.Context) error { return e.extend() }

func TestAcquireOrExtend(t *testing.T) {
	t.Parallel()
	req := locking.Request{Name: "j", TTL: ttl}
	for name, tt := range map[string]struct {
		extend func(n int) error
		tries  int // of extending
		same   bool
	}{
		"held":             {func(int) error { return nil }, 1, true},
		"lost":             {func(int) error { return locking.ErrLeaseLost }, 1, false},
		"unheard at first": {func(n int) error { return failFirst(n, 2) }, 3, true},
		"unheard, lost":    {func(n int) error { return errors.Join(failFirst(n, 1), lostAfter(n, 1)) }, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				locks, tries := new(locktest.Memory), 0
				held, err := locks.TryAcquire(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				lease := extending{held, func() error {
					tries++
					return tt.extend(tries)
				}}
				// The lost lease still blocks: it must be freed first.
				got, err := locking.AcquireOrExtend(t.Context(), locks, lease, req, locking.Retry{})
				if err != nil || tries != tt.tries {
					t.Fatalf("AcquireOrExtend = %v after %d extensions, want a lease after %d", err, tries, tt.tries)
				}
				if same := got.Claim().Token == held.Claim().Token; same != tt.same {
					t.Errorf("token %d after %d, want the same: %t", got.Claim().Token, held.Claim().Token, tt.same)
				}
			})
		})
	}
}

func lostAfter(n, fails int) error {
	if n <= fails {
		return nil
	}
	return locking.ErrLeaseLost
}

// While the loss of the lease is uncertain, no other is taken.
func TestAcquireOrExtendNeverHasBoth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := &refusing{why: refuseFor(locking.ErrTaken)}
		req := locking.Request{Name: "j", TTL: ttl}
		held, err := new(locktest.Memory).TryAcquire(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		lease := extending{held, func() error { return locking.ErrNoQuorum }}
		_, err = locking.AcquireOrExtend(t.Context(), l, lease, req, locking.Retry{Tries: 7})
		if !errors.Is(err, locking.ErrNoQuorum) || len(l.tries) != 0 {
			t.Errorf("AcquireOrExtend = %v with %d attempts, want %v and none", err, len(l.tries), locking.ErrNoQuorum)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = locking.AcquireOrExtend(ctx, l, lease, req, locking.Retry{Tries: -1})
		if !errors.Is(err, locking.ErrNoQuorum) || !errors.Is(err, context.DeadlineExceeded) || len(l.tries) != 0 {
			t.Errorf("AcquireOrExtend = %v with %d attempts, want %v, the context's error and none", err, len(l.tries), locking.ErrNoQuorum)
		}
	})
}

// A request that the lease was not granted for is another request: the answer must not be
// the caller's lease.
func TestAcquireOrExtendRefusesAnotherLock(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	plain, tick := locking.Request{Name: "j", TTL: ttl}, locking.Request{Name: "j", TTL: ttl, Tick: at}
	manual, beside := tick, tick
	manual.Stream, beside.Beside = "manual", true
	schedule := tick
	schedule.Stream = locking.StreamSchedule
	for name, tt := range map[string]struct {
		held, req locking.Request
		said      string // empty: it is the same request
	}{
		"lock":              {plain, locking.Request{Name: "k", TTL: ttl}, `another lock, "k"`},
		"tick":              {plain, tick, "another tick, 1970-01-01T00:00:01Z"},
		"no tick":           {tick, plain, "another tick, none"},
		"stream":            {manual, tick, `another stream, "schedule"`},
		"other way":         {tick, manual, `another stream, "manual"`},
		"stream by default": {tick, schedule, ""},
		"beside":            {tick, beside, "another request, beside others: true"},
		"not beside":        {beside, tick, "another request, beside others: false"},
	} {
		locks := new(locktest.Memory)
		held, err := locks.TryAcquire(t.Context(), tt.held)
		if err != nil {
			t.Fatal(err)
		}
		got, err := locking.AcquireOrExtend(t.Context(), locks, held, tt.req, locking.Retry{})
		if tt.said == "" {
			if err != nil || got != held {
				t.Errorf("%s: AcquireOrExtend = %v, want the lease extended", name, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), tt.said) {
			t.Errorf("%s: AcquireOrExtend = %v, want an error that says %q", name, err, tt.said)
		}
	}
	got, err := locking.AcquireOrExtend(t.Context(), new(locktest.Memory), nil, plain, locking.Retry{})
	if err != nil {
		t.Errorf("AcquireOrExtend of nothing = %v, %v, want a lease", got, err)
	}
}

// noting is a Locker that refuses for the given reasons, and records requests.
type noting struct {
	reasons []error
	ways    []string
}

func (a *noting) TryAcquire(_ context.Context, req locking.Request) (locking.Lease, error) {
	a.ways = append(a.ways, fmt.Sprintf("direct %t, waiting %t", req.Direct, req.Waiting))
	return nil, &locking.AcquireError{Reason: a.reasons[len(a.ways)-1], Name: req.Name}
}

// Only the first try is direct. Tries after a refusal wait behind the holder; tries after
// silence do not.
func TestAcquireWaitsBehindOthers(t *testing.T) {
	t.Parallel()
	const direct, neither, waits = "direct true, waiting false", "direct false, waiting false", "direct false, waiting true"
	tick := time.Unix(1, 0)
	for name, tt := range map[string]struct {
		req  locking.Request
		ways []string
	}{
		"plain lock":         {locking.Request{Name: "k"}, []string{direct, waits, neither, waits}},
		"tick":               {locking.Request{Name: "k", Tick: tick}, []string{neither, waits, neither, waits}},
		"direct tick":        {locking.Request{Name: "k", Tick: tick, Direct: true}, []string{direct, waits, neither, waits}},
		"waiting plain lock": {locking.Request{Name: "k", Waiting: true}, []string{waits, waits, neither, waits}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &noting{reasons: []error{locking.ErrTaken, locking.ErrNoQuorum, locking.ErrSplit, locking.ErrTaken}}
				_, _ = locking.Acquire(t.Context(), l, tt.req, locking.Retry{Tries: 4})
				if !slices.Equal(l.ways, tt.ways) {
					t.Errorf("tries %q, want %q", l.ways, tt.ways)
				}
			})
		})
	}
}
