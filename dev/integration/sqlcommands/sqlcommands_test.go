// Package sqlcommands_test asks for jobs in transactions of a real PostgreSQL.
package sqlcommands_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	singlecommands "github.com/quorate/quorate/internal/store/single/commands"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/commands/sqlcommands"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A world is a database with the store of a cluster, and a table of the application.
type world struct {
	*testing.T
	pool     *pgxpool.Pool // the application's
	db       *sql.DB       // the same
	store    *postgres.Store
	commands *singlecommands.Store
}

// newWorld sets both up. The application's role may only ask for jobs, and its settings change
// nothing of what it asks for.
func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldOn(t, pgtest.Start(t))
}

func newWorldOn(t *testing.T, server *pgtest.Server) *world {
	t.Helper()
	url := server.URL()
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner := sqltest.Open(t, "pgx", url)
	for _, statement := range []string{
		"CREATE ROLE app LOGIN;" + pgtest.Odd("ROLE app") + pgtest.OddFunctions, "CREATE TABLE orders (id int)", "GRANT ALL ON orders TO app",
		"GRANT USAGE ON SCHEMA quorate TO app", "GRANT EXECUTE ON FUNCTION quorate.trigger_job TO app",
	} {
		if _, err := owner.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	app := strings.Replace(url, "postgres@", "app@", 1)
	pool, err := pgxpool.New(t.Context(), app)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return &world{T: t, pool: pool, db: sqltest.Open(t, "pgx", app), store: s, commands: singlecommands.New(s)}
}

var errRolledBack = errors.New("the application rolls back")

// inPgx asks, after a write, in a transaction of pgx.
func (w *world) inPgx(command commands.Command, end error) error {
	return pgx.BeginFunc(w.Context(), w.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(w.Context(), "INSERT INTO public.orders VALUES (1)"); err != nil {
			return err
		}
		_, err := sqlcommands.Trigger(w.Context(), tx.Exec, postgres.DefaultSchema, command)
		return errors.Join(err, end)
	})
}

// inSQL does the same with database/sql.
func (w *world) inSQL(command commands.Command, end error) error {
	tx, err := w.db.BeginTx(w.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(w.Context(), "INSERT INTO public.orders VALUES (1)"); err != nil {
		return err
	}
	if _, err := sqlcommands.Trigger(w.Context(), tx.ExecContext, "", command); err != nil || end != nil {
		return errors.Join(err, end)
	}
	return tx.Commit()
}

// replicas runs two until the returned function is called, which returns the
// values of the param "n" of all runs.
func (w *world) replicas() (stop func() []string) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	locks := new(locktest.Memory)
	var mu sync.Mutex
	var runs []string
	bind := func(n any) jobs.Handler {
		return func(context.Context, jobs.Run) error {
			mu.Lock()
			defer mu.Unlock()
			runs = append(runs, fmt.Sprint(n))
			return nil
		}
	}
	never, err := schedule.Parse("0 0 1 1 *", schedule.Options{})
	if err != nil {
		w.Fatal(err)
	}
	var running sync.WaitGroup
	for n := range 2 {
		s, err := scheduler.New(scheduler.Config{
			Replica:       fmt.Sprint("replica-", n),
			Stores:        scheduler.Stores{Locker: locks, Ledger: schedtest.NewLedger(locks), Commands: w.commands},
			CommandsEvery: 50 * time.Millisecond,
		}, []jobs.Job{{
			Name: "invoice", Schedule: never, Handler: bind(nil),
			Bind: func(params map[string]any) (jobs.Handler, error) { return bind(params["n"]), nil },
		}})
		if err != nil {
			w.Fatal(err)
		}
		running.Go(func() {
			if err := s.Run(ctx); err != nil {
				w.Errorf("Run = %v", err)
			}
		})
	}
	return func() []string {
		cancel()
		running.Wait()
		return runs
	}
}

// wait waits until nothing is queued or open, and every command has its result.
func (w *world) wait(results int) []commands.Command {
	w.Helper()
	for {
		list, err := w.commands.Audit(w.Context(), 100)
		if err != nil {
			w.Fatal(err)
		}
		closed := 0
		for _, a := range list {
			if a.Result != "" {
				closed++
			}
		}
		if closed >= results {
			return list
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-w.Context().Done():
			w.Fatalf("done are %+v, want %d", list, results)
		}
	}
}

func command(id string, n int) commands.Command {
	return commands.Command{ID: id, Job: "invoice", By: "ann", Reason: "order", Params: json.RawMessage(fmt.Sprintf(`{"n":%d,"x":null}`, n))}
}

// A request of a transaction that commits runs once, also if it is made twice; that of one
// that rolls back never does.
func TestTrigger(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.replicas()
	for n, ask := range []func(commands.Command, error) error{w.inPgx, w.inSQL} {
		if err := ask(command(fmt.Sprint("a", n), n), nil); err != nil {
			t.Fatal(err)
		}
		if err := ask(command(fmt.Sprint("b", n), 100), errRolledBack); !errors.Is(err, errRolledBack) {
			t.Errorf("rolled back: %v", err)
		}
		if err := ask(command(fmt.Sprint("a", n), n), nil); err != nil {
			t.Errorf("asked twice: %v", err)
		}
	}
	w.wait(2)
	if err := w.inPgx(command("a0", 0), nil); err != nil {
		t.Errorf("asked again of what has run: %v", err)
	}
	if err := w.inPgx(command("last", 2), nil); err != nil {
		t.Fatal(err)
	}
	list := w.wait(3)
	if len(list) != 3 || list[0].By != "ann as app" || list[0].Reason != "order" || list[0].Within != time.Hour {
		t.Errorf("the audit log says %+v", list)
	}
	if runs := stop(); !slices.Equal(runs, []string{"0", "1", "2"}) {
		t.Errorf("runs %q, want 3: %+v", runs, list)
	}
	var orders int
	if err := w.pool.QueryRow(t.Context(), "SELECT count(*) FROM public.orders").Scan(&orders); err != nil || orders != 6 {
		t.Errorf("%d orders, %v", orders, err)
	}
}

// Transactions that ask for one job do not wait for each other, or hold back others; those
// with one ID do, and make one request.
func TestConcurrentTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	begin := func() pgx.Tx {
		tx, err := w.pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	slow := begin()
	if _, err := sqlcommands.Trigger(ctx, slow.Exec, postgres.DefaultSchema, command("slow", 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.inPgx(command("quick", 2), nil); err != nil {
		t.Fatal(err)
	}
	direct := command("direct", 3)
	direct.Kind = commands.Trigger
	if _, err := w.commands.Do(ctx, direct); err != nil {
		t.Fatal(err)
	}
	twin := make(chan error, 1)
	go func() { twin <- w.inPgx(command("slow", 1), nil) }()
	if err := slow.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-twin; err != nil {
		t.Errorf("the same ID in another transaction: %v", err)
	}
	open, err := w.commands.Open(ctx)
	if err != nil || len(open.Requests) != 3 {
		t.Errorf("open are %+v, %v", open.Requests, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if err := w.inPgx(command("a", 1), nil); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []func(commands.Command, error) error{w.inPgx, w.inSQL} {
		for range 2 { // queued, then a command
			if err := ask(command("a", 2), nil); !errors.As(err, new(*commands.ReusedIDError)) {
				t.Errorf("the ID of another command: %v", err)
			}
			if _, err := w.commands.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, wrong := range []commands.Command{{}, {Job: "j", Within: time.Millisecond}, {Job: "j", Kind: commands.Cancel, Run: "r"}} {
		if err := w.inPgx(wrong, nil); !errors.As(err, new(*commands.Error)) {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	for _, wrong := range []string{
		"''", "repeat('x', 301)", "'j', '[1]'", "'j', id => '-'", "'j', within => '1 ms'", "'j', within => NULL",
		"'j', within => '70000000 months -2100000000 days 1 hour'", "'j', within => '1 year'", "'j', id => '+0123456789abcdef0123456789abcdef'",
		"'j', id => 'key-0123456789abcdef0123456789abcdef'", "'j', id => 'note-x'", `'j', '{"x":1e400}'`, `'j', ('{"x":' || repeat('[', 40) || repeat(']', 40) || '}')::json`,
		"'j', reason => repeat('x', 1025)", `'j', E'{"x":"\\u0000"}'`, `'j', E'{"x":"\\ud83d"}'`, `'j', '{"x":1e999999}'`, `'j', ('{"a":"' || repeat('x', 16384) || '"}')::json`,
	} {
		_, err := w.pool.Exec(t.Context(), "SELECT quorate.trigger_job("+wrong+")")
		if err == nil || !strings.Contains(err.Error(), "22023") {
			t.Errorf("trigger_job(%s): %v, want invalid_parameter_value", wrong, err)
		}
	}
	if _, err := w.pool.Exec(t.Context(), "SELECT quorate.trigger_job('j' || n) FROM generate_series(1, 999) n"); err != nil {
		t.Fatal(err)
	}
	if err := w.inPgx(command("more", 1), nil); !errors.As(err, new(*commands.Error)) {
		t.Errorf("one too many: %v", err)
	}
}

// Transactions that ask at the same time have no more places together than one of them.
func TestParallelTransactionsShareTheBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const transactions, each = 4, 400 // as many as the pool has connections
	var asking, done sync.WaitGroup
	asking.Add(transactions)
	for n := range transactions {
		done.Go(func() {
			err := pgx.BeginFunc(w.Context(), w.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(w.Context(), fmt.Sprintf(`DO $$ BEGIN FOR i IN 1 .. %d LOOP
					BEGIN PERFORM quorate.trigger_job('j', id => 't%d-' || i); EXCEPTION WHEN program_limit_exceeded THEN EXIT; END;
				END LOOP; END $$`, each, n))
				asking.Done()
				asking.Wait() // none has committed before
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	queued, err := w.commands.Queued(t.Context())
	if err != nil || queued != commands.MaxOpen {
		t.Errorf("%d requests are queued, %v; want %d", queued, err, commands.MaxOpen)
	}
	for range 3 { // each reading takes some
		if _, err := w.commands.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	left, err := w.commands.Queued(t.Context())
	if err != nil || left >= queued || left < queued/2 {
		t.Errorf("after three readings %d of %d requests are queued, %v", left, queued, err)
	}
	if err := w.inPgx(command("more", 1), nil); !errors.As(err, new(*commands.Error)) {
		t.Errorf("one too many: %v", err)
	}
	open, err := w.commands.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.commands.Close(t.Context(), open.Requests[0].ID, "done"); err != nil {
		t.Fatal(err)
	}
	if err := w.inPgx(command("next", 1), nil); err != nil {
		t.Errorf("when one is done: %v", err)
	}
}

// Requests of transactions and of replicas at the same time share one bound: none of the transactions has
// committed before all have asked, nor have they all when the replicas ask.
func TestReplicasAndTransactionsShareTheBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const transactions, each, replicas, asked = 2, 490, 3, 30
	var asking, done sync.WaitGroup
	asking.Add(transactions)
	for n := range transactions {
		done.Go(func() {
			err := pgx.BeginFunc(w.Context(), w.pool, func(tx pgx.Tx) error {
				_, err := tx.Exec(w.Context(), fmt.Sprintf(`DO $$ BEGIN FOR i IN 1 .. %d LOOP
					PERFORM quorate.trigger_job('j', id => 't%d-' || i);
				END LOOP; END $$`, each, n))
				asking.Done()
				asking.Wait()
				var other sync.WaitGroup
				for replica := range replicas {
					store := singlecommands.New(w.store)
					other.Go(func() {
						for i := range asked {
							one := commands.Command{ID: fmt.Sprintf("r%d-%d-%d", n, replica, i), Kind: commands.Trigger, Job: fmt.Sprint("j", n, replica, i)}
							if _, err := store.Do(w.Context(), one); err != nil && !errors.As(err, new(*commands.Error)) {
								w.Error(err)
							}
						}
					})
				}
				other.Wait()
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	queued, err := w.commands.Queued(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open, _, err := w.store.List(t.Context(), kv.Of(kv.Commands, "open"))
	if err != nil {
		t.Fatal(err)
	}
	if n := queued + len(open[0]); n != commands.MaxOpen {
		t.Errorf("%d requests are queued, %d open: %d together, want %d", queued, len(open[0]), n, commands.MaxOpen)
	}
	if _, err := w.commands.Do(t.Context(), commands.Command{ID: "c", Kind: commands.Cancel, Job: "j", Run: "r"}); err != nil {
		t.Errorf("a cancel: %v", err)
	}
}

// What others have asked for, in whatever form, is not in the way.
func TestBesideOddRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	odd := json.RawMessage(`{"v":1,"id":"odd","kind":"trigger","job":"j","at":"soon","within":"long","params":{"a":"\u0000","b":"\ud800"}}`)
	for _, name := range []string{"open", "act"} {
		w.put(kv.Key{Kind: kv.Commands, Name: name, Sub: "odd"}, odd)
	}
	if err := w.inPgx(command("a", 1), nil); err != nil {
		t.Errorf("beside an odd request: %v", err)
	}
	if err := w.inPgx(command("odd", 1), nil); !errors.As(err, new(*commands.ReusedIDError)) {
		t.Errorf("the ID of an odd request: %v", err)
	}
	long := command("long", 1)
	long.Params = json.RawMessage(`{"n":12345678901234567890123456789,"x":[{},null,1.50]}`)
	for range 2 {
		if err := w.inPgx(long, nil); err != nil {
			t.Errorf("asked twice: %v", err)
		}
	}
}

// put stores a record, whatever is there.
func (w *world) put(k kv.Key, value json.RawMessage) {
	w.Helper()
	_, stamp, err := w.store.Read(w.Context(), k)
	if err != nil {
		w.Fatal(err)
	}
	if o, err := w.store.Commit(w.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: k, Value: value}}}); err != nil || !o.Won {
		w.Fatalf("Commit = %+v, %v", o, err)
	}
}
