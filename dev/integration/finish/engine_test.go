package finish_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

var errOwn = errors.New("the function fails")

// An engine is a replica with the job "job", which runs once, and "next", which follows it.
type engine struct {
	*rig
	proxy   *proxytest.Proxy // before the application's transactions
	app     *pgxpool.Pool
	calls   atomic.Int64 // of job
	follows atomic.Int64 // calls of next
	failed  atomic.Int64 // calls of what follows a failure
	drain   context.CancelFunc
	log     logtest.Buffer
}

// transact leaves an effect and finishes the run in tx, which stays open unless that fails.
func (e *engine) transact(ctx context.Context, run jobs.Run) (pgx.Tx, error) {
	tx, err := e.app.Begin(ctx)
	if err != nil {
		return nil, err
	}
	_, err = tx.Exec(ctx, e.text("INSERT INTO {schema}.effects VALUES ($1, $2)"), jobs.FormatTick(run.Tick), int64(run.Token))
	if err == nil {
		err = sqlfence.Finish(ctx, tx.Exec, run)
	}
	if err != nil {
		_ = tx.Rollback(ctx) // else the pool waits for its connection
	}
	return tx, err
}

// An engineCase is what the function does, and what has to come of it.
type engineCase struct {
	call                         func(e *engine, ctx context.Context, run jobs.Run) error
	outcome                      ledger.Outcome
	calls, effects, next, failed int
	onCrash                      jobs.OnCrash
	bouncer                      bool
	log                          string
}

func committed(then func(e *engine, ctx context.Context) error) func(*engine, context.Context, jobs.Run) error {
	return func(e *engine, ctx context.Context, run jobs.Run) error {
		tx, err := e.transact(ctx, run)
		if err != nil {
			return err
		}
		if err := tx.Commit(ctx); err != nil {
			return err
		}
		return then(e, ctx)
	}
}

func engineCases() map[string]engineCase {
	const warning = "after its transaction had committed"
	nothing := func(*engine, context.Context) error { return nil }
	fails := func(*engine, context.Context) error { return errOwn }
	return map[string]engineCase{
		"commit":         {call: committed(nothing), outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1},
		"pgbouncer":      {call: committed(fails), outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, bouncer: true},
		"error after it": {call: committed(fails), outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning},
		"panic after it": {
			call:    committed(func(*engine, context.Context) error { panic("after the commit") }),
			outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning,
		},
		"drained after it": {call: committed(func(e *engine, ctx context.Context) error {
			e.drain()
			<-ctx.Done()
			return ctx.Err()
		}), outcome: ledger.Succeeded, calls: 1, effects: 1, onCrash: jobs.CrashRerun, log: warning},
		"rolled back once": {call: func(e *engine, ctx context.Context, run jobs.Run) error {
			tx, err := e.transact(ctx, run)
			if err == nil && run.Call == 1 {
				err = errors.Join(tx.Rollback(ctx), errOwn)
			}
			if err == nil {
				err = tx.Commit(ctx)
			}
			return err
		}, outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
		"rolled back always": {call: func(e *engine, ctx context.Context, run jobs.Run) error {
			tx, err := e.transact(ctx, run)
			if err == nil {
				err = tx.Rollback(ctx)
			}
			return errors.Join(err, errOwn)
		}, outcome: ledger.Failed, calls: 2, failed: 1},
		"reply to COMMIT cut off": {call: func(e *engine, ctx context.Context, run jobs.Run) error {
			tx, err := e.transact(ctx, run)
			if err != nil {
				return err
			}
			e.proxy.CutReplies("commit")
			return tx.Commit(ctx)
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning},
		"COMMIT lost": {call: func(e *engine, ctx context.Context, run jobs.Run) error {
			tx, err := e.transact(ctx, run)
			if err != nil {
				return err
			}
			if run.Call > 1 {
				return tx.Commit(ctx)
			}
			e.proxy.BlackHole()
			short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
			defer stop()
			err = tx.Commit(short)
			e.proxy.Pass()
			e.proxy.Break()
			return err
		}, outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
		"COMMIT late": {call: func(e *engine, ctx context.Context, run jobs.Run) error {
			tx, err := e.transact(ctx, run)
			if err != nil {
				return err
			}
			go func() { // as one that is under way while its sender has given up
				<-time.After(timeout)
				_ = tx.Commit(context.WithoutCancel(ctx))
			}()
			return errOwn
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning},
	}
}

// run runs the job once, until its run is settled, and drains the replica.
func (e *engine) run(c engineCase) {
	e.Helper()
	never, err := schedule.Parse("0 0 1 1 *", schedule.Options{})
	if err != nil {
		e.Fatal(err)
	}
	tick := time.Now().Truncate(time.Second).Add(2 * time.Second)
	once := schedule.At{Time: tick}
	counts := func(n *atomic.Int64) jobs.Handler {
		return func(context.Context, jobs.Run) error { n.Add(1); return nil }
	}
	ctx, drain := context.WithCancel(e.Context())
	defer drain()
	e.drain = drain
	stores := store.ForScheduler(e.connect())
	s, err := scheduler.New(scheduler.Config{
		Replica: "a", Stores: stores, Logger: slog.New(slog.NewTextHandler(&e.log, nil)),
		TTL: ttl, SafetyMargin: 500 * time.Millisecond, CommandsEvery: 50 * time.Millisecond,
	}, []jobs.Job{
		{
			Name: "job", Schedule: once, OnCrash: c.onCrash, Retry: jobs.Retry{Attempts: 2, Backoff: 10 * time.Millisecond},
			OnSuccess: []string{"next"}, OnFailure: []string{"failed"},
			Handler: func(ctx context.Context, run jobs.Run) error {
				e.calls.Add(1)
				return c.call(e, ctx, run)
			},
		},
		{Name: "next", Schedule: never, Handler: counts(&e.follows)},
		{Name: "failed", Schedule: never, Handler: counts(&e.failed)},
	})
	if err != nil {
		e.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	settled := func() bool {
		list := e.entries("job")
		return len(list) > 0 && list[0].Outcome != ledger.Running &&
			(ctx.Err() != nil || int(e.follows.Load()) >= c.next && int(e.failed.Load()) >= c.failed)
	}
	for until := time.Now().Add(20 * time.Second); !settled() && time.Now().Before(until); {
		<-time.After(50 * time.Millisecond)
	}
	<-time.After(500 * time.Millisecond) // nothing more may come
	drain()
	if err := <-ended; err != nil {
		e.Errorf("Run = %v", err)
	}
}

// TestEngine shows what the engine makes of transactions that end runs.
func TestEngine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bouncer := w.Bouncer(t)
	for name, c := range engineCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{rig: w.rig(t), proxy: proxytest.New(t, w.Addr())}
			// A notice would come before the reply to COMMIT, and be cut off instead of it.
			to := pgtest.URL(e.proxy.Addr(), url.User("app"), "postgres") + "&client_min_messages=error"
			if c.bouncer {
				to = bouncer + "&default_query_exec_mode=exec"
			}
			e.app = w.pool(t, to)
			e.run(c)
			list := e.entries("job")
			outcomes := fmt.Sprint(slices.Collect(func(yield func(ledger.Outcome) bool) {
				for _, entry := range list {
					yield(entry.Outcome)
				}
			}))
			if outcomes != fmt.Sprintf("[%s]", c.outcome) || int(e.calls.Load()) != c.calls || e.effects() != c.effects {
				t.Errorf("outcomes %s after %d calls, with %d effects; want %s, %d, %d\n%s", outcomes, e.calls.Load(), e.effects(), c.outcome, c.calls, c.effects, e.log.String())
			}
			if len(list) > 0 && list[0].Calls != c.calls {
				t.Errorf("the ledger has %d tries, want %d", list[0].Calls, c.calls)
			}
			if int(e.follows.Load()) != c.next || int(e.failed.Load()) != c.failed {
				t.Errorf("%d followers of success and %d of failure ran, want %d and %d", e.follows.Load(), e.failed.Load(), c.next, c.failed)
			}
			if !strings.Contains(e.log.String(), c.log) {
				t.Errorf("the log lacks %q:\n%s", c.log, e.log.String())
			}
		})
	}
}
