package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedule"
)

var errOwn = errors.New("the function fails")

// An engine is a replica with the job "job", which runs once, and "next", which follows it.
type engine struct {
	*finishRig
	proxy   *proxytest.Proxy // before the transactions of the application
	app     *sql.DB
	calls   atomic.Int64 // of job
	follows atomic.Int64 // calls of next
	failed  atomic.Int64 // calls of the job that follows a failure
	drain   context.CancelFunc
	log     logtest.Buffer
}

// transact leaves an effect and finishes the run in a transaction, which stays open unless that fails.
func (e *engine) transact(ctx context.Context, run jobs.Run) (*sql.Tx, error) {
	tx, err := e.app.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO "+e.effects+" VALUES (?, ?, ?)", run.Job, run.Tick.Unix(), uint64(run.Token))
	if err == nil {
		err = Finish(ctx, tx, run)
	}
	if err != nil {
		_ = tx.Rollback()
	}
	return tx, err
}

// An engineCase is what the function does with its transaction, which has finished the run, and the result.
type engineCase struct {
	then                         func(e *engine, ctx context.Context, run jobs.Run, tx *sql.Tx) error
	outcome                      ledger.Outcome
	calls, effects, next, failed int
	onCrash                      jobs.OnCrash
	log                          string
}

func committed(then func(e *engine, ctx context.Context) error) func(*engine, context.Context, jobs.Run, *sql.Tx) error {
	return func(e *engine, ctx context.Context, _ jobs.Run, tx *sql.Tx) error {
		if err := tx.Commit(); err != nil {
			return err
		}
		return then(e, ctx)
	}
}

// firstCall does something else in the first call: the second one commits.
func firstCall(fails func(e *engine, ctx context.Context, tx *sql.Tx) error) func(*engine, context.Context, jobs.Run, *sql.Tx) error {
	return func(e *engine, ctx context.Context, run jobs.Run, tx *sql.Tx) error {
		if run.Call > 1 {
			return tx.Commit()
		}
		return fails(e, ctx, tx)
	}
}

// warning is what the log has of a function that fails after its commit.
const warning = "after its transaction had committed"

// decidedCases are those in which the function knows what has become of its transaction.
func decidedCases() map[string]engineCase {
	return map[string]engineCase{
		"commit": {
			then:    committed(func(*engine, context.Context) error { return nil }),
			outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1,
		},
		"error after it": {
			then:    committed(func(*engine, context.Context) error { return errOwn }),
			outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning,
		},
		"panic after it": {
			then:    committed(func(*engine, context.Context) error { panic("after the commit") }),
			outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning,
		},
		"drained after it": {then: committed(func(e *engine, ctx context.Context) error {
			e.drain()
			<-ctx.Done()
			return ctx.Err()
		}), outcome: ledger.Succeeded, calls: 1, effects: 1, onCrash: jobs.CrashRerun, log: warning},
		"rolled back once": {then: firstCall(func(_ *engine, _ context.Context, tx *sql.Tx) error {
			return errors.Join(tx.Rollback(), errOwn)
		}), outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
		"rolled back always": {then: func(_ *engine, _ context.Context, _ jobs.Run, tx *sql.Tx) error {
			return errors.Join(tx.Rollback(), errOwn)
		}, outcome: ledger.Failed, calls: 2, failed: 1},
		"error ignored": {then: func(_ *engine, ctx context.Context, run jobs.Run, tx *sql.Tx) error {
			if err := Finish(ctx, tx, run); !errors.Is(err, sqlfence.ErrEnded) {
				return fmt.Errorf("the second Finish = %w", err)
			}
			return tx.Commit()
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1},
		"triggers too": {then: func(_ *engine, ctx context.Context, _ jobs.Run, tx *sql.Tx) error {
			return errors.Join(triggersInRun(ctx, tx), tx.Commit())
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 2},
		"triggers, rolled back once": {then: firstCall(func(_ *engine, ctx context.Context, tx *sql.Tx) error {
			return errors.Join(triggersInRun(ctx, tx), tx.Rollback(), errOwn)
		}), outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
	}
}

// lostCases are those in which it does not.
func lostCases() map[string]engineCase {
	return map[string]engineCase{
		"reply to COMMIT cut off": {then: func(e *engine, _ context.Context, _ jobs.Run, tx *sql.Tx) error {
			e.proxy.CutReplies("COMMIT")
			return tx.Commit()
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning},
		"COMMIT lost": {then: firstCall(func(e *engine, _ context.Context, tx *sql.Tx) error {
			e.proxy.BlackHole()
			go func() {
				<-time.After(100 * time.Millisecond)
				e.proxy.Pass()
				e.proxy.Break()
			}()
			return tx.Commit()
		}), outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
		"COMMIT late": {then: func(_ *engine, _ context.Context, _ jobs.Run, tx *sql.Tx) error {
			go func() { // as one that is under way while its sender has given up
				<-time.After(finishTimeout)
				_ = tx.Commit()
			}()
			return errOwn
		}, outcome: ledger.Succeeded, calls: 1, effects: 1, next: 1, log: warning},
		"connection killed": {then: firstCall(func(e *engine, ctx context.Context, tx *sql.Tx) error {
			var id int64
			if err := tx.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
				return err
			}
			if _, err := e.world.DB(e.T).ExecContext(ctx, fmt.Sprint("KILL ", id)); err != nil {
				return err
			}
			return tx.Commit()
		}), outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
		"left to the server": {then: firstCall(func(e *engine, _ context.Context, _ *sql.Tx) error {
			e.proxy.Break() // without a word to the server
			return errOwn
		}), outcome: ledger.Succeeded, calls: 2, effects: 1, next: 1},
	}
}

// triggersInRun asks for next. In the function of a job, the store is that of the run.
func triggersInRun(ctx context.Context, tx *sql.Tx) error {
	if _, err := Trigger(ctx, tx, "another", commands.Command{Job: "next"}); !errors.As(err, new(*commands.Error)) {
		return fmt.Errorf("of another database: %w", err)
	}
	id, err := Trigger(ctx, tx, "", commands.Command{ID: "chosen", Job: "next"})
	if err == nil && id != "chosen" {
		err = fmt.Errorf("the ID is %q", id)
	}
	return err
}

// scheduler is that of a replica whose job has its only tick soon.
func (e *engine) scheduler(c engineCase) *scheduler.Scheduler {
	e.Helper()
	never, err := schedule.Parse("0 0 1 1 *", schedule.Options{})
	if err != nil {
		e.Fatal(err)
	}
	counts := func(n *atomic.Int64) jobs.Handler {
		return func(context.Context, jobs.Run) error { n.Add(1); return nil }
	}
	times := claims.Config{TTL: finishTTL, Grace: finishGrace, Timeout: finishTimeout}
	s, err := scheduler.New(scheduler.Config{
		Replica: "a", Stores: store.ForScheduler(e.connect(times)), Logger: slog.New(slog.NewTextHandler(&e.log, nil)),
		TTL: finishTTL, SafetyMargin: 500 * time.Millisecond, CommandsEvery: 50 * time.Millisecond,
	}, []jobs.Job{
		{
			Name: "job", Schedule: schedule.At{Time: time.Now().Truncate(time.Second).Add(2 * time.Second)}, OnCrash: c.onCrash,
			Retry: jobs.Retry{Attempts: 2, Backoff: 10 * time.Millisecond}, OnSuccess: []string{"next"}, OnFailure: []string{"failed"},
			Handler: func(ctx context.Context, run jobs.Run) error {
				e.calls.Add(1)
				tx, err := e.transact(ctx, run)
				if err != nil {
					return err
				}
				return c.then(e, ctx, run, tx)
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

// run runs the job once, until its run is settled, and drains the replica.
func (e *engine) run(c engineCase) {
	e.Helper()
	ctx, drain := context.WithCancel(e.Context())
	defer drain()
	e.drain = drain
	s := e.scheduler(c)
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

// TestFinishEngine shows what the engine makes of transactions that end runs: a run has succeeded if and
// only if its transaction has committed, and the function is not called again then.
func TestFinishEngine(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	cases := decidedCases()
	maps.Copy(cases, lostCases())
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := &engine{finishRig: w.rig(t), proxy: proxytest.New(t, w.SideAddr())}
			e.app = w.connect(t, "app", func(c *mysql.Config) { c.Addr = e.proxy.Addr() })
			e.run(c)
			list := e.entries("job")
			var outcomes []ledger.Outcome
			for _, entry := range list {
				outcomes = append(outcomes, entry.Outcome)
			}
			if !slices.Equal(outcomes, []ledger.Outcome{c.outcome}) || int(e.calls.Load()) != c.calls || e.countEffects() != c.effects {
				t.Errorf("outcomes %s after %d calls, with %d effects; want %s, %d, %d\n%s", outcomes, e.calls.Load(), e.countEffects(), c.outcome, c.calls, c.effects, e.log.String())
			}
			if len(list) > 0 && list[0].Calls != c.calls {
				t.Errorf("the ledger has %d calls, want %d", list[0].Calls, c.calls)
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
