package finishtest

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

// ErrOwn is why functions of these tests fail.
var ErrOwn = errors.New("the function fails")

// warning is what the log has of a function that fails after its commit.
const warning = "after its transaction had committed"

// An Engine is a replica with the job "job", which runs once, "next", which follows its success, and
// "failed", which follows its failure.
type Engine struct {
	*testing.T
	Place
	Proxy *proxytest.Proxy // before the transactions of the application

	begin                  func(context.Context) (Tx, error)
	calls, follows, failed atomic.Int64
	drain                  context.CancelFunc
	log                    logtest.Buffer
}

// An EngineCase is what the function does with its transaction, which has finished the run, and the result.
type EngineCase struct {
	Then                         func(e *Engine, ctx context.Context, run jobs.Run, tx Tx) error
	Outcome                      ledger.Outcome
	Calls, Effects, Next, Failed int
	OnCrash                      jobs.OnCrash
	Log                          string
}

func committed(then func(e *Engine, ctx context.Context) error) func(*Engine, context.Context, jobs.Run, Tx) error {
	return func(e *Engine, ctx context.Context, _ jobs.Run, tx Tx) error {
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		return then(e, ctx)
	}
}

// FirstCall does something else in the first call: the second one commits.
func FirstCall(fails func(e *Engine, ctx context.Context, tx Tx) error) func(*Engine, context.Context, jobs.Run, Tx) error {
	return func(e *Engine, ctx context.Context, run jobs.Run, tx Tx) error {
		if run.Call > 1 {
			return tx.Commit(ctx)
		}
		return fails(e, ctx, tx)
	}
}

// EngineCases are those of each database.
func EngineCases() map[string]EngineCase {
	fails := func(*Engine, context.Context) error { return ErrOwn }
	return map[string]EngineCase{
		"commit": {
			Then:    committed(func(*Engine, context.Context) error { return nil }),
			Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1,
		},
		"error after it": {Then: committed(fails), Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1, Log: warning},
		"panic after it": {
			Then:    committed(func(*Engine, context.Context) error { panic("after the commit") }),
			Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1, Log: warning,
		},
		"drained after it": {Then: committed(func(e *Engine, ctx context.Context) error {
			e.drain()
			<-ctx.Done()
			return ctx.Err()
		}), Outcome: ledger.Succeeded, Calls: 1, Effects: 1, OnCrash: jobs.CrashRerun, Log: warning},
		"rolled back once": {Then: FirstCall(func(_ *Engine, ctx context.Context, tx Tx) error {
			return errors.Join(tx.Rollback(ctx), ErrOwn)
		}), Outcome: ledger.Succeeded, Calls: 2, Effects: 1, Next: 1},
		"rolled back always": {Then: func(_ *Engine, ctx context.Context, _ jobs.Run, tx Tx) error {
			return errors.Join(tx.Rollback(ctx), ErrOwn)
		}, Outcome: ledger.Failed, Calls: 2, Failed: 1},
		"reply to COMMIT cut off": {Then: func(e *Engine, ctx context.Context, _ jobs.Run, tx Tx) error {
			e.Proxy.CutReplies("commit", "COMMIT") // as drivers write it
			return tx.Commit(ctx)
		}, Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1, Log: warning},
		"COMMIT lost": {Then: FirstCall(func(e *Engine, ctx context.Context, tx Tx) error {
			e.Proxy.BlackHole()
			go func() {
				<-time.After(100 * time.Millisecond)
				e.Proxy.Pass()
				e.Proxy.Break()
			}()
			return tx.Commit(ctx)
		}), Outcome: ledger.Succeeded, Calls: 2, Effects: 1, Next: 1},
		"COMMIT late": {Then: func(_ *Engine, ctx context.Context, _ jobs.Run, tx Tx) error {
			go func() { // as one that is under way while its sender has given up
				<-time.After(Times.Timeout)
				_ = tx.Commit(context.WithoutCancel(ctx))
			}()
			return ErrOwn
		}, Outcome: ledger.Succeeded, Calls: 1, Effects: 1, Next: 1, Log: warning},
		"left to the server": {Then: FirstCall(func(e *Engine, _ context.Context, _ Tx) error {
			e.Proxy.Break() // without a word to the server
			return ErrOwn
		}), Outcome: ledger.Succeeded, Calls: 2, Effects: 1, Next: 1},
	}
}

// scheduler is that of a replica whose job has its only tick soon.
func (e *Engine) scheduler(c EngineCase) *scheduler.Scheduler {
	e.Helper()
	never, err := schedule.Parse("0 0 1 1 *", schedule.Options{})
	if err != nil {
		e.Fatal(err)
	}
	counts := func(n *atomic.Int64) jobs.Handler {
		return func(context.Context, jobs.Run) error { n.Add(1); return nil }
	}
	s, err := scheduler.New(scheduler.Config{
		Replica: "a", Stores: store.ForScheduler(e.Open()), Logger: slog.New(slog.NewTextHandler(&e.log, nil)),
		TTL: Times.TTL, SafetyMargin: 500 * time.Millisecond, CommandsEvery: 50 * time.Millisecond,
	}, []jobs.Job{
		{
			Name: "job", Schedule: schedule.At{Time: time.Now().Truncate(time.Second).Add(2 * time.Second)}, OnCrash: c.OnCrash,
			Retry: jobs.Retry{Attempts: 2, Backoff: 10 * time.Millisecond}, OnSuccess: []string{"next"}, OnFailure: []string{"failed"},
			Handler: func(ctx context.Context, run jobs.Run) error {
				e.calls.Add(1)
				tx, err := e.begin(context.WithoutCancel(ctx))
				if err != nil {
					return err
				}
				e.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }) // else a pool waits for its connection
				if err := tx.Finish(ctx, run); err != nil {
					return errors.Join(err, tx.Rollback(ctx))
				}
				return c.Then(e, ctx, run, tx)
			},
		},
		{Name: "next", Schedule: never, Handler: counts(&e.follows)},
		{Name: "failed", Schedule: never, Handler: counts(&e.failed)},
	})
	if err != nil {
		e.Fatal(err)
	}
	return s
}

// RunEngine runs the job once, until its run is settled, drains the replica, and checks the result: a run
// has succeeded if and only if its transaction has committed, and the function is not called again then.
func RunEngine(t *testing.T, p Place, c EngineCase) {
	t.Helper()
	e := &Engine{T: t, Place: p, Proxy: proxytest.New(t, p.Addr)}
	e.begin = p.Connect(e.Proxy.Addr())
	ctx, drain := context.WithCancel(t.Context())
	defer drain()
	e.drain = drain
	s := e.scheduler(c)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	settled := func() bool {
		list := e.Entries(t, "job")
		return len(list) > 0 && list[0].Outcome != ledger.Running &&
			(ctx.Err() != nil || int(e.follows.Load()) >= c.Next && int(e.failed.Load()) >= c.Failed)
	}
	for until := time.Now().Add(20 * time.Second); !settled() && time.Now().Before(until); {
		<-time.After(50 * time.Millisecond)
	}
	<-time.After(500 * time.Millisecond) // nothing more may come
	drain()
	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
	list := e.Entries(t, "job")
	var outcomes []ledger.Outcome
	for _, entry := range list {
		outcomes = append(outcomes, entry.Outcome)
	}
	if !slices.Equal(outcomes, []ledger.Outcome{c.Outcome}) || int(e.calls.Load()) != c.Calls || e.Effects() != c.Effects {
		t.Errorf("outcomes %s after %d calls, with %d effects; want %s, %d, %d\n%s", outcomes, e.calls.Load(), e.Effects(), c.Outcome, c.Calls, c.Effects, e.log.String())
	}
	if len(list) > 0 && list[0].Calls != c.Calls {
		t.Errorf("the ledger has %d calls, want %d", list[0].Calls, c.Calls)
	}
	if int(e.follows.Load()) != c.Next || int(e.failed.Load()) != c.Failed {
		t.Errorf("%d followers of success and %d of failure ran, want %d and %d", e.follows.Load(), e.failed.Load(), c.Next, c.Failed)
	}
	if !strings.Contains(e.log.String(), c.Log) {
		t.Errorf("the log lacks %q:\n%s", c.Log, e.log.String())
	}
}
