package mysql

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

	"github.com/quorate/quorate/dev/testkit/finishtest"
	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

func invoice(id string, n int) commands.Command {
	return commands.Command{ID: id, Job: "invoice", By: "ann", Reason: "order", Params: json.RawMessage(fmt.Sprintf(`{"n":%d,"x":null}`, n))}
}

// ask asks in a transaction with an effect, which commits unless end is an error.
func (r *finishRig) ask(level sql.IsolationLevel, command commands.Command, end error) error {
	r.Helper()
	tx := r.begin(level)
	_, err := Trigger(r.Context(), tx, r.database, command)
	if err = errors.Join(err, end); err != nil {
		_ = tx.Rollback()
		return err
	}
	return tx.Commit()
}

func (r *finishRig) mustAsk(command commands.Command) {
	r.Helper()
	if err := r.ask(sql.LevelDefault, command, nil); err != nil {
		r.Fatal(err)
	}
}

// replicas runs two until the returned function is called, which returns the values of the param "n" of
// all runs.
func (r *finishRig) replicas() (stop func() []string) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
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
		r.Fatal(err)
	}
	var running sync.WaitGroup
	for n := range 2 {
		s, err := scheduler.New(scheduler.Config{
			Replica:       fmt.Sprint("replica-", n),
			Stores:        scheduler.Stores{Locker: locks, Ledger: schedtest.NewLedger(locks), Commands: r.cluster.Commands},
			CommandsEvery: 50 * time.Millisecond,
		}, []jobs.Job{{
			Name: "invoice", Schedule: never, Handler: bind(nil),
			Bind: func(params map[string]any) (jobs.Handler, error) { return bind(params["n"]), nil },
		}})
		if err != nil {
			r.Fatal(err)
		}
		running.Go(func() {
			if err := s.Run(ctx); err != nil {
				r.Errorf("Run = %v", err)
			}
		})
	}
	return func() []string {
		cancel()
		running.Wait()
		return runs
	}
}

// results waits until so many requests have their result, and returns the audit log.
func (r *finishRig) results(want int) []commands.Command {
	r.Helper()
	for until := time.Now().Add(time.Minute); ; <-time.After(20 * time.Millisecond) {
		list, err := finishtest.Patiently(func() ([]commands.Command, error) { return r.cluster.Commands.Audit(r.Context(), 100) })
		if err != nil {
			r.Fatal(err)
		}
		closed := 0
		for _, a := range list {
			if a.Result != "" {
				closed++
			}
		}
		if closed >= want {
			return list
		}
		if time.Now().After(until) {
			r.Fatalf("done are %+v, want %d", list, want)
		}
	}
}

// A request of a transaction that commits runs once, also if it is made twice; that of one that rolls back
// never does.
func (r *finishRig) triggers(level sql.IsolationLevel) {
	stop := r.replicas()
	must := func(command commands.Command) {
		if err := r.ask(level, command, nil); err != nil {
			r.Error(err)
		}
	}
	must(invoice("a", 0))
	if err := r.ask(level, invoice("b", 100), finishtest.ErrOwn); !errors.Is(err, finishtest.ErrOwn) {
		r.Errorf("rolled back: %v", err)
	}
	must(invoice("a", 0))
	r.results(1)
	must(invoice("a", 0)) // it has run
	must(invoice("last", 1))
	list := r.results(2)
	if len(list) != 2 || list[0].By != "ann as app@%" || list[0].Reason != "order" || list[0].Within != time.Hour {
		r.Errorf("the audit log says %+v", list)
	}
	if runs := stop(); !slices.Equal(runs, []string{"0", "1"}) {
		r.Errorf("runs %q, want 2: %+v", runs, list)
	}
	if n := r.countEffects(); n != 4 {
		r.Errorf("%d effects, want 4", n)
	}
}

// Whoever asks without a name or an ID gets those.
func (r *finishRig) anonymous(level sql.IsolationLevel) {
	tx := r.begin(level)
	first, err := Trigger(r.Context(), tx, r.database, commands.Command{Job: "invoice"})
	second, err2 := Trigger(r.Context(), tx, r.database, commands.Command{Job: "invoice"})
	if err := errors.Join(err, err2, tx.Commit()); err != nil || first == second || first == "" {
		r.Fatalf("the IDs are %q and %q, %v", first, second, err)
	}
	if open := finishtest.Requests(r.T, r.cluster); len(open) != 2 || open[0].ID != first || open[1].ID != second || open[0].By != "app@%" {
		r.Errorf("open are %+v", open)
	}
}

// Transactions that ask for one job do not wait for each other, or hold back others; those with one ID do,
// and make one request.
func (r *finishRig) parallel(level sql.IsolationLevel) {
	slow := r.begin(level)
	if _, err := Trigger(r.Context(), slow, r.database, invoice("slow", 1)); err != nil {
		r.Fatal(err)
	}
	for _, id := range []string{"quick", "slower", "slo", "0", "z"} { // beside it in the order of keys
		if err := r.ask(level, invoice(id, 2), nil); err != nil {
			r.Fatal(err)
		}
	}
	direct := invoice("direct", 3)
	direct.Kind = commands.Trigger
	if _, err := r.cluster.Commands.Do(r.Context(), direct); err != nil {
		r.Fatal(err)
	}
	if open := finishtest.Requests(r.T, r.cluster); len(open) != 6 {
		r.Errorf("open are %+v while one transaction is", open)
	}
	twin, other := make(chan error, 1), make(chan error, 1)
	go func() { twin <- r.ask(level, invoice("slow", 1), nil) }()
	go func() { other <- r.ask(level, invoice("slow", 2), nil) }()
	r.awaitWaiting(2)
	if err := slow.Commit(); err != nil {
		r.Fatal(err)
	}
	if err := <-twin; err != nil {
		r.Errorf("the same ID in another transaction: %v", err)
	}
	if err := <-other; !errors.As(err, new(*commands.ReusedIDError)) {
		r.Errorf("the same ID with other contents: %v", err)
	}
	if open := finishtest.Requests(r.T, r.cluster); len(open) != 7 {
		r.Errorf("open are %+v", open)
	}
}

// awaitWaiting waits until so many transactions write the same record of this store.
func (r *finishRig) awaitWaiting(n int) {
	r.Helper()
	statement := fmt.Sprintf("SELECT COUNT(*) FROM information_schema.processlist WHERE state = 'Update' AND info LIKE 'INSERT INTO %s.records%%'", quoted(r.database))
	for until := time.Now().Add(time.Minute); r.world.Value(r.T, statement, "") != fmt.Sprint(n); <-time.After(20 * time.Millisecond) {
		if time.Now().After(until) {
			r.Fatalf("not so many statements wait: %d", n)
		}
	}
}

// The request of a transaction that rolls back is that of the one that has waited for it.
func (r *finishRig) takesOver(level sql.IsolationLevel) {
	first := r.begin(level)
	if _, err := Trigger(r.Context(), first, r.database, invoice("one", 1)); err != nil {
		r.Fatal(err)
	}
	second := make(chan error, 1)
	go func() { second <- r.ask(level, invoice("one", 2), nil) }()
	r.awaitWaiting(1)
	_ = first.Rollback()
	if err := <-second; err != nil {
		r.Errorf("after one that was rolled back: %v", err)
	}
	if open := finishtest.Requests(r.T, r.cluster); len(open) != 1 || string(open[0].Params) != `{"n":2,"x":null}` {
		r.Errorf("open are %+v", open)
	}
}

// Requests are refused that are invalid, or whose ID is that of another, and leave nothing.
func (r *finishRig) refuses(level sql.IsolationLevel) {
	r.mustAsk(invoice("a", 1))
	for range 2 { // queued, then open
		if err := r.ask(level, invoice("a", 2), nil); !errors.As(err, new(*commands.ReusedIDError)) {
			r.Errorf("the ID of another command: %v", err)
		}
		if open := finishtest.Requests(r.T, r.cluster); len(open) != 1 {
			r.Errorf("open are %+v", open)
		}
	}
	for _, wrong := range []commands.Command{
		{},
		{Job: "j", Within: time.Millisecond},
		{Job: "j", Kind: commands.Cancel, Run: "r"},
		{Job: "j", Kind: commands.Backfill, From: time.Unix(1, 0), To: time.Unix(2, 0)},
		{Kind: commands.Pause, Job: "j", Reason: "r"},
		{Job: "j", Trigger: ledger.ByChain},
		{Job: "j", Parent: "x"},
		{Job: "j", ID: "-"},
		{Job: "j", ID: "a b"},
		{Job: "j", ID: "+0123456789abcdef0123456789abcdef"},
		{Job: strings.Repeat("x", 301)},
		{Job: "j", By: strings.Repeat("x", 1022)},
		{Job: "j", Params: json.RawMessage(`[1]`)},
		{Job: "j", Params: json.RawMessage(`{"x":"\u0000"}`)},
		{Job: "j", Reason: "\xff"},
		{Job: "j", Tag: "t"},
		{All: true},
	} {
		if err := r.ask(level, wrong, nil); !errors.As(err, new(*commands.Error)) {
			r.Errorf("%+v: %v", wrong, err)
		}
	}
	for _, odd := range []string{"open", "act"} {
		r.put(kv.Key{Kind: kv.Commands, Name: odd, Sub: "odd"}, `{"v":1,"id":"odd","kind":"trigger","job":"j","at":"soon"}`)
	}
	if err := r.ask(level, invoice("odd", 1), nil); !errors.As(err, new(*commands.ReusedIDError)) {
		r.Errorf("the ID of a request that cannot be read: %v", err)
	}
	if n, err := r.cluster.Commands.Queued(r.Context()); err != nil || n > 0 {
		r.Errorf("%d requests are queued, %v", n, err)
	}
}

// put stores a record, whatever is there.
func (r *finishRig) put(k kv.Key, value string) {
	r.Helper()
	_, stamp, err := r.store.Read(r.Context(), k)
	if err != nil {
		r.Fatal(err)
	}
	o, err := r.store.Commit(r.Context(), kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: k, Value: json.RawMessage(value)}}})
	if err != nil || !o.Won {
		r.Fatalf("Commit = %+v, %v", o, err)
	}
}

// No more than 1,000 requests are queued or open.
func (r *finishRig) bounded(level sql.IsolationLevel) {
	tx := r.begin(level)
	for n := range commands.MaxOpen {
		if n == commands.MaxOpen/2 {
			if err := tx.Commit(); err != nil {
				r.Fatal(err)
			}
			finishtest.Requests(r.T, r.cluster) // some are open then, and some queued
			tx = r.begin(level)
		}
		if _, err := Trigger(r.Context(), tx, r.database, invoice(fmt.Sprint("n", n), n)); err != nil {
			r.Fatalf("request %d: %v", n, err)
		}
	}
	if _, err := Trigger(r.Context(), tx, r.database, invoice("more", 1)); !errors.As(err, new(*commands.Error)) {
		r.Errorf("one too many: %v", err)
	}
	if _, err := Trigger(r.Context(), tx, r.database, invoice("n7", 7)); err != nil {
		r.Errorf("one of them again: %v", err)
	}
	if err := tx.Commit(); err != nil {
		r.Fatal(err)
	}
	if err := r.ask(level, invoice("more", 1), nil); !errors.As(err, new(*commands.Error)) || !strings.Contains(err.Error(), "1000") {
		r.Errorf("one too many: %v", err)
	}
	first := finishtest.Requests(r.T, r.cluster)[0]
	if err := r.cluster.Commands.Close(r.Context(), first.ID, "done"); err != nil {
		r.Fatal(err)
	}
	if err := r.ask(level, invoice("more", 1), nil); err != nil {
		r.Errorf("when one is done: %v", err)
	}
	if err := r.ask(level, invoice("yet-more", 1), nil); !errors.As(err, new(*commands.Error)) {
		r.Errorf("one too many again: %v", err)
	}
}

// Requests are taken in the order in which they were asked for, whatever their IDs.
func (r *finishRig) ordered(level sql.IsolationLevel) {
	ids := []string{"m", "z", "a", "k", "b", "y"}
	tx := r.begin(level)
	for n, id := range ids {
		if _, err := Trigger(r.Context(), tx, r.database, invoice(id, n)); err != nil {
			r.Fatal(err)
		}
		if n%2 == 1 {
			if err := tx.Commit(); err != nil {
				r.Fatal(err)
			}
			tx = r.begin(level)
		}
	}
	_ = tx.Rollback()
	var got []string
	for _, a := range finishtest.Requests(r.T, r.cluster) {
		got = append(got, a.ID)
	}
	if !slices.Equal(got, ids) {
		r.Errorf("open are %q, want %q", got, ids)
	}
}

// The tables are elsewhere.
func (r *finishRig) elsewhere(level sql.IsolationLevel) {
	r.world.Exec(r.T, "GRANT SELECT ON `nowhere`.* TO app", "GRANT SELECT ON `empty`.* TO app", "CREATE DATABASE IF NOT EXISTS `empty`")
	for _, database := range []string{"", "nowhere", "empty", "a`b"} {
		tx := r.begin(level)
		_, err := Trigger(r.Context(), tx, database, invoice("a", 1))
		_ = tx.Rollback()
		wants := "the tables of Quorate are not on the server of this transaction, or have another name"
		if database == "" || database == "a`b" { // the server does not tell users without rights what there is
			wants = "store migrate --print --role"
		}
		if err == nil || !strings.Contains(err.Error(), wants) || errors.Is(err, finishtx.ErrNoClaim) || strings.Contains(err.Error(), "\n") {
			r.Errorf("in %q: %v, want %q", database, err, wants)
		}
	}
}

// TestTrigger asks for jobs in transactions, at both isolation levels.
func TestTrigger(t *testing.T) {
	t.Parallel()
	w := newFinishWorld(t)
	for name, test := range map[string]func(*finishRig, sql.IsolationLevel){
		"once": (*finishRig).triggers, "anonymous": (*finishRig).anonymous, "parallel": (*finishRig).parallel, "takes over": (*finishRig).takesOver,
		"refused": (*finishRig).refuses, "bound": (*finishRig).bounded, "order": (*finishRig).ordered, "elsewhere": (*finishRig).elsewhere,
	} {
		for _, level := range levels {
			t.Run(fmt.Sprintf("%s/%s", name, level), func(t *testing.T) {
				t.Parallel()
				test(w.rig(t), level)
			})
		}
	}
}
