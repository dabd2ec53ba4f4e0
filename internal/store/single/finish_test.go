package single_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

const ttl = 3 * time.Second

var errCall = errors.New("the call fails")

// A trial is a cluster whose job ends its runs in transactions with its effects, in
// virtual time.
type trial struct {
	*testing.T
	db       *database
	schedule schedule.Schedule
	call     func(*incarnation, context.Context, jobs.Run) error
	all      sync.WaitGroup // of the replicas

	mu           sync.Mutex
	incarnations []*incarnation
	calls        int
	events       []event.Event // of ends of runs
	failedOver   bool          // so effects that replicas know of may be gone
}

func newTrial(t *testing.T, spec schedule.Schedule, call func(*incarnation, context.Context, jobs.Run) error) *trial {
	t.Helper()
	return &trial{T: t, db: newDatabase(t), schedule: spec, call: call}
}

// An incarnation is one of a replica.
type incarnation struct {
	*session
	*trial
	id     string
	drain  context.CancelFunc
	once   sync.Once
	killed chan struct{} // closed
}

// start begins an incarnation of the replica.
func (f *trial) start(id string) {
	ctx, drain := context.WithCancel(f.Context())
	l := &incarnation{session: f.db.session(), trial: f, id: id, drain: drain, killed: make(chan struct{})}
	c, err := single.Open(l.session, claims.Config{TTL: ttl, Timeout: 500 * time.Millisecond, Grace: grace}, nil)
	if err != nil {
		panic(err)
	}
	s, err := scheduler.New(scheduler.Config{
		Replica: id, Stores: store.ForScheduler(c), TTL: ttl, Observer: l.observe,
	}, []jobs.Job{{
		Name: jobName, Schedule: f.schedule, OnCrash: jobs.CrashRerun, Overlap: jobs.OverlapQueue,
		Retry: jobs.Retry{Attempts: 3, Backoff: 100 * time.Millisecond}, Handler: l.handle,
	}})
	if err != nil {
		panic(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.incarnations = append(f.incarnations, l)
	f.all.Go(func() {
		_ = s.Run(ctx) // one that is dead cannot drain
		_ = c.Close()
	})
}

func (l *incarnation) observe(e event.Event) {
	if e.Kind == event.Finished && !l.dead() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.events = append(l.events, e)
	}
}

// handle checks that a tick with its effect is not called again.
func (l *incarnation) handle(ctx context.Context, run jobs.Run) error {
	l.mu.Lock()
	l.calls++
	l.mu.Unlock()
	if tokens := l.db.effects(run.Tick); len(tokens) > 0 && !l.dead() {
		l.Errorf("%v is called again with token %d: it has the effects %v", run.Tick, run.Token, tokens)
	}
	return l.call(l, ctx, run)
}

// first reports whether the call is the first of all.
func (l *incarnation) first() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls == 1
}

func (l *incarnation) dead() bool {
	select {
	case <-l.killed:
		return true
	default:
		return false
	}
}

// kill ends the incarnation as SIGKILL does. Another one begins later.
func (l *incarnation) kill() {
	l.once.Do(func() {
		close(l.killed)
		close(l.gone)
		time.AfterFunc(rand.N(2*time.Second), func() { l.start(l.id) })
		l.drain()
	})
}

// die kills the replica of a call, which does nothing more.
func (l *incarnation) die(ctx context.Context) error {
	l.kill()
	<-ctx.Done()
	return ctx.Err()
}

// check compares what the ledger and the events say with the effects that there are.
func (f *trial) check() map[string]int {
	f.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	outcomes := map[string]int{}
	for _, e := range f.db.ticks(f.T) {
		got, want := fmt.Sprint(f.db.effects(e.Tick)), "[]"
		if e.Outcome == ledger.Succeeded {
			want = fmt.Sprintf("[%d]", e.Token)
		}
		if got != want || e.Outcome == ledger.Running {
			f.Errorf("%v is %s with token %d: it has the effects %s, want %s", e.Tick, e.Outcome, e.Token, got, want)
		}
		outcomes[string(e.Outcome)]++
	}
	for _, e := range f.events {
		if f.failedOver {
			break
		}
		unknown := strings.Contains(e.Entry.Reason.String(), "not known whether its transaction was committed")
		has := strings.Contains(fmt.Sprint(f.db.effects(e.Entry.Tick)), fmt.Sprint(uint64(e.Entry.Token)))
		switch {
		case unknown != (e.Err != nil) || unknown && e.Entry.Outcome != ledger.Interrupted:
			f.Errorf("the replica calls it unknown: %+v", e)
		case unknown:
			outcomes["unknown"]++
		case has != (e.Entry.Outcome == ledger.Succeeded):
			f.Errorf("the replica says %s of token %d, it has the effects %v", e.Entry.Outcome, e.Entry.Token, f.db.effects(e.Entry.Tick))
		}
	}
	return outcomes
}

// failover promotes a standby that lacks the last commits, effects and outcomes alike.
func (f *trial) failover() {
	time.Sleep(rand.N(20 * time.Second))
	standby := f.db.Backup()
	time.Sleep(rand.N(3 * time.Second))
	f.db.Restore(standby)
	f.failedOver = true
}

// stop drains the replicas.
func (f *trial) stop() {
	f.mu.Lock()
	for _, l := range f.incarnations {
		l.drain()
	}
	f.mu.Unlock()
	f.all.Wait()
}

// mishaps are what may go wrong in a call.
func mishaps() []func(*incarnation, context.Context) error {
	inTransaction := func(then func(l *incarnation, ctx context.Context, commit func() error) error) func(*incarnation, context.Context) error {
		return func(l *incarnation, ctx context.Context) error {
			t, err := l.finish(ctx)
			if err != nil {
				return err
			}
			return then(l, ctx, func() error { return l.commit(t) })
		}
	}
	later := func(most time.Duration, do func()) { time.AfterFunc(rand.N(most), do) }
	return []func(*incarnation, context.Context) error{
		func(l *incarnation, ctx context.Context) error { return l.die(ctx) },
		inTransaction(func(l *incarnation, ctx context.Context, _ func() error) error { // before COMMIT; the server notices later
			later(2*ttl, l.unlock)
			return l.die(ctx)
		}),
		inTransaction(func(l *incarnation, ctx context.Context, commit func() error) error { // with COMMIT under way
			later(2*ttl, func() { _ = commit() })
			return l.die(ctx)
		}),
		inTransaction(func(l *incarnation, ctx context.Context, commit func() error) error {
			_ = commit()
			return l.die(ctx)
		}),
		inTransaction(func(l *incarnation, _ context.Context, commit func() error) error { // while the engine asks, or ends the run
			later(2*time.Millisecond, l.kill)
			return errors.Join(commit(), errCall)
		}),
		inTransaction(func(_ *incarnation, _ context.Context, commit func() error) error {
			return errors.Join(commit(), errCall)
		}),
		inTransaction(func(l *incarnation, _ context.Context, _ func() error) error {
			l.unlock()
			return errCall
		}),
		inTransaction(func(_ *incarnation, _ context.Context, commit func() error) error { // its outcome stays unknown for long
			later(3*ttl, func() { _ = commit() })
			return errCall
		}),
		inTransaction(func(l *incarnation, _ context.Context, _ func() error) error {
			later(3*ttl, l.unlock)
			return errCall
		}),
		inTransaction(func(_ *incarnation, _ context.Context, commit func() error) error { // the process is frozen
			time.Sleep(rand.N(3 * ttl))
			return commit()
		}),
		inTransaction(func(_ *incarnation, _ context.Context, commit func() error) error { return commit() }),
	}
}

func everyFive(t *testing.T) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse("@every 5s", schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestFinishUnderKills kills replicas between any two steps of runs that end in their
// transaction, and lets calls fail there. In every other round the store fails over. The order
// of events differs from round to round.
func TestFinishUnderKills(t *testing.T) {
	t.Parallel()
	rounds := 60
	if testing.Short() {
		rounds = 20
	}
	every := everyFive(t)
	outcomes, all := map[string]int{}, mishaps()
	for n := range rounds {
		synctest.Test(t, func(t *testing.T) {
			until := time.Now().Add(time.Minute)
			f := newTrial(t, every, func(l *incarnation, ctx context.Context, _ jobs.Run) error {
				if time.Now().After(until) {
					return all[len(all)-1](l, ctx)
				}
				return all[rand.IntN(len(all))](l, ctx)
			})
			for _, id := range []string{"a", "b", "c"} {
				f.start(id)
			}
			if n%2 == 1 {
				f.failover()
				f.failover()
			}
			time.Sleep(time.Until(until.Add(time.Minute + time.Second)))
			if latest := f.db.ticks(t)[0]; latest.Outcome != ledger.Succeeded {
				t.Errorf("a minute after the last fault the latest tick is %s: %s", latest.Outcome, latest.Reason)
			}
			f.stop()
			for what, n := range f.check() {
				outcomes[what] += n
			}
		})
	}
	t.Log(outcomes)
	for _, what := range []string{"succeeded", "unknown"} {
		if outcomes[what] == 0 {
			t.Errorf("too little has happened: %v", outcomes)
		}
	}
}

// A commit that stays unknown for longer than the lease is called so. The function is not
// called again before it is decided, and then only if it was rolled back.
func TestUnknownCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(l *incarnation, commit func() error) // how it goes on, after the call
		calls  int
	}{
		"committed late":   {func(_ *incarnation, commit func() error) { time.AfterFunc(20*time.Second, func() { _ = commit() }) }, 1},
		"rolled back late": {func(l *incarnation, _ func() error) { time.AfterFunc(20*time.Second, l.unlock) }, 2},
		"no answer, committed": {func(l *incarnation, commit func() error) {
			_ = commit()
			close(l.gone)
		}, 1},
		"no answer, rolled back": {func(l *incarnation, _ func() error) {
			l.unlock()
			close(l.gone)
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newTrial(t, schedule.At{Time: time.Now().Add(5 * time.Second)}, func(l *incarnation, ctx context.Context, _ jobs.Run) error {
					txn, err := l.finish(ctx)
					if err != nil {
						return err
					}
					if !l.first() {
						return l.commit(txn)
					}
					c.decide(l, func() error { return l.commit(txn) })
					return errCall
				})
				f.start("a")
				f.start("b")
				time.Sleep(20 * time.Second)
				f.mu.Lock()
				if !slices.ContainsFunc(f.events, func(e event.Event) bool { return strings.Contains(fmt.Sprint(e.Err), "not known") }) {
					t.Errorf("the replica says %+v", f.events)
				}
				f.mu.Unlock()
				time.Sleep(30 * time.Second)
				f.stop()
				f.mu.Lock()
				if f.calls != c.calls {
					t.Errorf("the function was called %d times, want %d", f.calls, c.calls)
				}
				f.mu.Unlock()
				if outcomes := f.check(); outcomes["succeeded"] != 1 {
					t.Errorf("the ledger has %v", outcomes)
				}
			})
		})
	}
}

// A run whose commit was unknown, and was rolled back, runs again before later ticks do: also
// on the replica that does not know how it ended.
func TestUnknownRunsAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ works, undecided time.Duration }{
		"unknown before the next tick": {0, 4 * time.Second},
		"unknown after it has begun":   {0, 9 * time.Second},
		"while the next tick waits":    {3500 * time.Millisecond, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newTrial(t, everyFive(t), func(l *incarnation, ctx context.Context, _ jobs.Run) error {
					if l.first() {
						time.Sleep(c.works)
					}
					txn, err := l.finish(ctx)
					switch {
					case err != nil:
						return err
					case l.first():
						time.AfterFunc(c.undecided, l.unlock)
						return errCall
					}
					return l.commit(txn)
				})
				f.start("a")
				time.Sleep(time.Minute + time.Second)
				f.stop()
				outcomes := f.check()
				if list := f.db.ticks(t); outcomes["unknown"] != 1 || list[len(list)-1].Attempt != 2 || list[len(list)-1].Outcome != ledger.Succeeded {
					t.Errorf("the first tick is %+v of %v", list[len(list)-1], outcomes)
				}
			})
		})
	}
}
