package recorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// A flaky ledger answers err while it is set.
type flaky struct {
	ledger.Store
	mu    sync.Mutex
	err   error
	has   []string
	tries int
}

func (f *flaky) Record(_ context.Context, e ledger.Entry) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	if f.err == nil {
		f.has = append(f.has, e.Job)
	}
	return true, f.err
}

// Ticks has none: no tick was recorded before.
func (f *flaky) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return nil, f.err
}

func (f *flaky) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// recordEvents collects the observer's events on records.
type recordEvents struct {
	mu   sync.Mutex
	list []string
}

func (o *recordEvents) observe(e event.Event) {
	if e.Kind != event.Recorded {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	says := "recorded"
	switch {
	case errors.Is(e.Err, event.ErrDropped):
		says = "dropped"
	case e.Err != nil:
		says = "failed"
	}
	o.list = append(o.list, e.Entry.Job+" "+says)
}

func TestRecorder(t *testing.T) {
	t.Parallel()
	outage := fmt.Errorf("reading: %w", locking.ErrNoQuorum)
	tests := []struct {
		name      string
		limit     int
		add       int
		err       error
		recovered time.Duration // 0: never
		flushed   time.Duration // when flush is called
		has       []string
		told      []string
	}{
		{"all is well", 10, 3, nil, 0, 0, []string{"j0", "j1", "j2"}, []string{"j0 recorded", "j1 recorded", "j2 recorded"}},
		{"an outage", 10, 3, outage, time.Minute, 2 * time.Minute, []string{"j0", "j1", "j2"}, []string{"j0 failed", "j0 recorded", "j1 failed", "j1 recorded", "j2 failed", "j2 recorded"}},
		{"an outage that ends while flushing", 10, 2, outage, 61 * time.Second, time.Minute, []string{"j0", "j1"}, []string{"j0 failed", "j0 recorded", "j1 failed", "j1 recorded"}},
		{"an outage that ends late in the flush", 10, 2, outage, 61800 * time.Millisecond, time.Minute, []string{"j0", "j1"}, []string{"j0 failed", "j0 recorded", "j1 failed", "j1 recorded"}},
		{"an outage to the end", 10, 2, outage, 0, time.Minute, nil, []string{"j0 dropped", "j0 failed", "j1 dropped", "j1 failed"}},
		{"more than fits", 2, 5, outage, time.Minute, 2 * time.Minute, []string{"j3", "j4"}, []string{"j0 dropped", "j0 failed", "j1 dropped", "j2 dropped", "j3 failed", "j3 recorded", "j4 failed", "j4 recorded"}},
		{"another failure is not repeated", 10, 2, errors.New("boom"), 0, time.Minute, nil, []string{"j0 failed", "j1 failed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ledger, heard := &flaky{err: tt.err}, &recordEvents{}
				r := New(Options{Ledger: ledger, Limit: tt.limit, Observer: heard.observe})
				r.Ready(time.Time{}.Add(1))
				ctx, cancel := context.WithCancel(t.Context())
				go r.Run(ctx)
				for i := range tt.add {
					name := fmt.Sprintf("j%d", i)
					r.add(&job.Job{Job: jobs.Job{Name: name}}, missed(name, noon, "x"), time.Time{})
					synctest.Wait()
				}
				if tt.recovered > 0 {
					time.AfterFunc(tt.recovered, func() { ledger.set(nil) })
				}
				time.Sleep(tt.flushed)
				begun := time.Now()
				r.Flush()
				cancel()
				<-r.ended
				if took := time.Since(begun); took > flushTimeout {
					t.Errorf("flushing took %v", took)
				}
				slices.Sort(ledger.has) // those of a batch have no order
				slices.Sort(heard.list)
				if !slices.Equal(ledger.has, tt.has) {
					t.Errorf("ledger has %v, want %v", ledger.has, tt.has)
				}
				if !slices.Equal(heard.list, tt.told) {
					t.Errorf("told %v\nwant %v", heard.list, tt.told)
				}
				time.Sleep(2 * time.Minute)
			})
		})
	}
}

// However long the ledger is away, no more ticks wait than the limit allows, and each of the others is told.
func TestRecorderIsBounded(t *testing.T) {
	t.Parallel()
	const limit, added = 10, 100
	synctest.Test(t, func(t *testing.T) {
		ledger, heard := &flaky{err: locking.ErrNoQuorum}, &recordEvents{}
		r := New(Options{Ledger: ledger, Limit: limit, Observer: heard.observe})
		r.Ready(time.Time{}.Add(1))
		ctx, cancel := context.WithCancel(t.Context())
		r.Ready(time.Time{}.Add(1))
		go r.Run(ctx)
		for i := range added {
			name := fmt.Sprintf("j%02d", i)
			r.add(&job.Job{Job: jobs.Job{Name: name}}, missed(name, noon, "x"), time.Time{})
			time.Sleep(3 * time.Second) // each is tried
		}
		ledger.set(nil)
		time.Sleep(time.Minute)
		cancel()
		<-r.ended
		var dropped int
		for _, line := range heard.list {
			if strings.HasSuffix(line, " dropped") {
				dropped++
			}
		}
		slices.Sort(ledger.has)
		if n := len(ledger.has); n < limit || n > limit+1 || dropped+n != added || ledger.has[n-limit] != fmt.Sprintf("j%02d", added-limit) { // one may be under way
			t.Errorf("%d are dropped, and the ledger has %v, want the newest %d", dropped, ledger.has, limit)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		told := map[error]int{}
		r := New(Options{Ledger: new(shared), Limit: limit, Settles: true, Now: time.Now, Observer: func(e event.Event) {
			if e.Kind == event.Settled {
				mu.Lock()
				defer mu.Unlock()
				told[e.Err]++
			}
		}})
		r.Ready(time.Time{}.Add(1))
		ctx, cancel := context.WithCancel(t.Context())
		r.Ready(time.Time{}.Add(1))
		go r.Run(ctx)
		for range added {
			r.add(&job.Job{Job: jobs.Job{Name: "j"}}, missed("j", time.Now(), "x"), time.Now().Add(time.Hour))
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Hour)
		cancel()
		<-r.ended
		if told[nil] != limit || told[event.ErrDropped] != added-limit {
			t.Errorf("of %d ticks to be settled %v are told, want %d, and that the others are given up", added, told, limit)
		}
	})
}

// A servedJob is one that another replica could run since a time.
type servedJob struct {
	roster.Roster
	since atomic.Pointer[time.Time]
	reads atomic.Int64
}

func (s *servedJob) Jobs(context.Context) ([]roster.JobInfo, error) {
	s.reads.Add(1)
	info := roster.JobInfo{Name: "j"}
	if first := s.since.Load(); first != nil {
		info.Account.First = *first
	}
	return []roster.JobInfo{info}, nil
}

// While this replica cannot run ticks, another one may begin to. What came before that is nobody's, and what
// comes later is missed, also if this replica has read before that nobody could run the job.
func TestAccountsAreReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, list := new(flaky), new(servedJob)
		r := New(Options{Ledger: store, Roster: list, Limit: 10, Now: time.Now, Observer: func(event.Event) {}})
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		for n, want := range []int{0, 0, 0, 1, 2, 3} {
			if first := noon.Add(2 * time.Minute); n == 2 {
				list.since.Store(&first)
			}
			r.add(&job.Job{Job: jobs.Job{Name: "j"}}, missed("j", noon.Add(time.Duration(n)*time.Minute), "x"), time.Time{})
			synctest.Wait()
			if got := len(store.has); got != want {
				t.Errorf("minute %d: %d ticks are missed, want %d", n, got, want)
			}
		}
		if n := list.reads.Load(); n > 4 {
			t.Errorf("read %d times, want none once the account is known", n)
		}
		cancel()
		<-r.ended
	})
}

func TestRecorderIsPatient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &flaky{err: locking.ErrNoQuorum}
		r := New(Options{Ledger: ledger, Limit: 10, Observer: func(event.Event) {}})
		r.Ready(time.Time{}.Add(1))
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		r.add(&job.Job{Job: jobs.Job{Name: "j"}}, missed("j", noon, "x"), time.Time{})
		time.Sleep(time.Minute)
		cancel()
		<-r.ended
		if ledger.tries < 50 || ledger.tries > 70 {
			t.Errorf("%d tries in a minute, want about one a second", ledger.tries)
		}
	})
}

// A tick ahead of the nodes' clocks is recorded once it has come, if the replica's clock is
// not too far ahead. Otherwise it is given up.
func TestTickAheadOfTheNodesIsRecordedLater(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{20 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			ledger := &behindClock{until: begun.Add(ahead)}
			r := New(Options{Ledger: ledger, Limit: 10, Now: time.Now, Observer: func(event.Event) {}})
			r.Ready(time.Time{}.Add(1))
			ctx, cancel := context.WithCancel(t.Context())
			go r.Run(ctx)
			r.add(&job.Job{Job: jobs.Job{Name: "j"}}, missed("j", begun, "x"), time.Time{})
			time.Sleep(10 * time.Minute)
			cancel()
			<-r.ended
			if want := ahead < aheadPatience; ledger.taken != want || ledger.tries > 70 {
				t.Errorf("%v ahead: recorded is %v after %d tries, want %v, and a try a second for a minute at most", ahead, ledger.taken, ledger.tries, want)
			}
		})
	}
}

// A behindClock is a ledger on nodes with late clocks.
type behindClock struct {
	ledger.Store
	until time.Time
	tries int
	taken bool
}

func (l *behindClock) Record(context.Context, ledger.Entry) (first bool, err error) {
	l.tries++
	if time.Now().Before(l.until) {
		return false, locking.ErrFuture
	}
	l.taken = true
	return true, nil
}

// A slow ledger delays each entry, and never takes some.
type slow struct {
	ledger.Store
	mu    sync.Mutex
	taken []time.Time
}

func (l *slow) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if e.Job == "stuck" {
		return false, locking.ErrNoQuorum
	}
	if !retry.Sleep(ctx, 200*time.Millisecond) { // a node that answers just in time
		return false, ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken = append(l.taken, time.Now())
	return true, nil
}

// Many simultaneous outcomes are soon in the ledger, also on slow nodes. An entry that no
// quorum takes does not delay the others.
func TestManyOutcomesAreRecordedSoon(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ledger := &slow{}
		r := New(Options{Ledger: ledger, Limit: 10_000, Observer: func(event.Event) {}})
		r.Ready(time.Time{}.Add(1))
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		begun := time.Now()
		const n = 2500
		r.add(&job.Job{Job: jobs.Job{Name: "stuck"}}, missed("stuck", noon, "x"), time.Time{})
		for i := range n {
			r.add(&job.Job{Job: jobs.Job{Name: "j"}}, missed("j", noon.Add(time.Duration(i)*time.Second), "x"), time.Time{})
		}
		time.Sleep(recordTimeout)
		cancel()
		<-r.ended
		if len(ledger.taken) != n {
			t.Fatalf("after %v %d of %d outcomes are in the ledger", recordTimeout, len(ledger.taken), n)
		}
		t.Logf("%d outcomes in %v", n, ledger.taken[n-1].Sub(begun))
	})
}

// missed is the entry of a tick that could not run.
func missed(job string, at time.Time, reason string) ledger.Entry {
	return ledger.Entry{Job: job, Tick: at, Outcome: ledger.Missed, Reason: ledger.TextReason(reason)}
}

// A shared ledger has the outcome of a tick once another replica has run it.
type shared struct {
	ledger.Store
	mu  sync.Mutex
	ran bool
}

func (l *shared) Record(context.Context, ledger.Entry) (first bool, err error) { return true, nil }

func (l *shared) Ticks(_ context.Context, q ledger.Query) ([]ledger.Entry, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := missed(q.Job, q.Since, "x")
	if l.ran {
		e.Outcome, e.Token = ledger.Succeeded, 1
	}
	return []ledger.Entry{e}, nil
}

// A witness is a ledger that has other entries beside the tick, and does not answer at first.
type witness struct {
	shared
	silent int
	list   []ledger.Entry
}

func (w *witness) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) {
	if w.silent--; w.silent >= 0 {
		return nil, locking.ErrNoQuorum
	}
	return w.list, nil
}

// What is told of a tick that nobody ran is the entry of the ledger. As long as it does not answer,
// nothing is told; runs of other streams are no runs of the tick.
func TestToldIsWhatTheLedgerHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := time.Now()
		backfilled := missed("j", at, "x")
		backfilled.Stream, backfilled.Outcome, backfilled.Token = "backfill", ledger.Succeeded, 1
		of := missed("j", at, "another replica")
		store := &witness{silent: 3, list: []ledger.Entry{backfilled, of}}
		var told []ledger.Entry
		r := New(Options{Ledger: store, Limit: 10, Settles: true, Now: time.Now, Observer: func(e event.Event) {
			if e.Kind == event.Settled {
				told = append(told, e.Entry)
			}
		}})
		r.Ready(time.Time{}.Add(1))
		ctx, cancel := context.WithCancel(t.Context())
		go r.Run(ctx)
		r.Decided(&job.Job{Job: jobs.Job{Name: "j"}}, job.Tick{At: at, Nominal: at, Start: at, Until: at}, job.MissedFor(ledger.CodeDrained))
		time.Sleep(time.Minute)
		cancel()
		<-r.ended
		if store.silent >= 0 || len(told) != 1 || told[0].Replica != of.Replica || told[0].Reason != of.Reason {
			t.Errorf("told %+v, want %+v", told, of)
		}
	})
}

// A tick that one replica did not run is told once no other can run it any more: after the tick's
// window, and after claims that began in it.
func TestToldAfterTheWindow(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		ran  time.Duration // another replica runs it then; 0: none does
		late time.Duration // this one decides so long after the tick
		told time.Duration // 0: never
	}{
		{"nobody runs it", 0, 2 * time.Second, 20*time.Second + claimTime},
		{"another one does in its window", 19 * time.Second, 2 * time.Second, 0},
		{"a claim that was begun in it", 22 * time.Second, 2 * time.Second, 0},
		{"decided late, as after a sleep", 0, time.Minute, time.Minute},
		{"decided late, and run", 3 * time.Second, time.Minute, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun, store := time.Now(), new(shared)
				var mu sync.Mutex
				var told []time.Duration
				r := New(Options{Ledger: store, Limit: 10, Settles: true, Now: time.Now, Observer: func(e event.Event) {
					if e.Kind == event.Settled {
						mu.Lock()
						defer mu.Unlock()
						told = append(told, time.Since(begun))
					}
				}})
				r.Ready(time.Time{}.Add(1))
				ctx, cancel := context.WithCancel(t.Context())
				go r.Run(ctx)
				if tt.ran > 0 {
					time.AfterFunc(tt.ran, func() {
						store.mu.Lock()
						defer store.mu.Unlock()
						store.ran = true
					})
				}
				time.Sleep(tt.late)
				tick := job.Tick{At: begun, Nominal: begun, Start: begun, Until: begun.Add(20 * time.Second)}
				r.Decided(&job.Job{Job: jobs.Job{Name: "j"}}, tick, job.MissedFor(ledger.CodeDrained))
				time.Sleep(2 * time.Minute)
				cancel()
				<-r.ended
				var want []time.Duration
				if tt.told > 0 {
					want = append(want, tt.told)
				}
				if !slices.Equal(told, want) {
					t.Errorf("told after %v, want %v", told, want)
				}
			})
		})
	}
}
