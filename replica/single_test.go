package replica

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/ledger"
)

// inMemory is a Store of a Config.
type inMemory struct{ *kvtest.Memory }

func (inMemory) Section() string { return config.SectionPostgres }

func (inMemory) Address() string { return "postgres://memory/test" }

func (s inMemory) Open(_ context.Context, _ config.Cluster) (kv.Server, error) {
	return s.Memory, nil
}

// declaredNew is one that may be used at once.
func declaredNew(t *testing.T) inMemory {
	t.Helper()
	m := inMemory{new(kvtest.Memory)}
	if err := claims.DeclareNew(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// ranTicks notes the ticks that ran, and their tokens.
type ranTicks struct {
	mu     sync.Mutex
	tokens map[time.Time][]locking.Token
}

func (r *ranTicks) run(_ context.Context, run jobs.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tokens == nil {
		r.tokens = map[time.Time][]locking.Token{}
	}
	r.tokens[run.Tick] = append(r.tokens[run.Tick], run.Token)
	return nil
}

// Three replicas on one store run each tick once. A stale standby takes over: for the grace
// nothing runs, and then again each tick once. Ticks that it has forgotten do not run again.
func TestReplicasOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := declaredNew(t)
		var ran ranTicks
		var replicas []*Replica
		for _, id := range []string{"a", "b", "c"} {
			r, err := New(Config{
				Replica: settings.Replica{ID: id}, Store: m, Logger: logTo(io.Discard),
				Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: ran.run}},
			})
			if err != nil {
				t.Fatal(err)
			}
			defer start(t.Context(), r)()
			replicas = append(replicas, r)
		}
		time.Sleep(60*time.Second + time.Second/2)
		stale := m.Backup()
		time.Sleep(5 * time.Second)
		failed := time.Now()
		m.Restore(stale)
		time.Sleep(10 * time.Second)
		for _, r := range replicas {
			if why := strings.Join(r.NotReady(), ""); !strings.Contains(why, "grace of the store") {
				t.Errorf("after a failover replica %s is not ready for %q", r.ID(), why)
			}
		}
		time.Sleep(50 * time.Second)
		ran.mu.Lock()
		defer ran.mu.Unlock()
		ran.check(t, failed)

		list, err := store.ForScheduler(replicas[0].store).Ledger.Ticks(t.Context(), ledger.Query{Job: "j", Limit: 1000})
		if err != nil || len(list) < 115 {
			t.Fatalf("%d ticks are listed, %v", len(list), err)
		}
	})
}

// A job that runs once an hour loses no tick to a failover: the grace counts from the
// failover, not from the first claim after it.
func TestFailoverBetweenRareTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := new(kvtest.Memory) // nobody declares it new
		var ran ranTicks
		r, err := New(Config{Replica: settings.Replica{ID: "a"}, Store: inMemory{m}, Logger: logTo(io.Discard), Jobs: []jobs.Job{{Name: "j", Spec: "0 * * * *", Handler: ran.run}}})
		if err != nil {
			t.Fatal(err)
		}
		defer start(t.Context(), r)()
		for tick := 1; tick <= 3; tick++ {
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if why := r.NotReady(); why != nil {
				t.Errorf("30s after the failover it is not ready for %q", why)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			ran.mu.Lock()
			if len(ran.tokens) != tick {
				t.Errorf("%d of %d ticks ran", len(ran.tokens), tick)
			}
			ran.mu.Unlock()
			m.Restore(m.Backup())
		}
	})
}

// check checks that each tick ran once, that tokens grow, and that no tick ran in the grace.
func (r *ranTicks) check(t *testing.T, failed time.Time) {
	t.Helper()
	var before locking.Token
	early, late := 0, 0
	end := time.Now()
	for tick := end.Add(-3 * time.Minute).Truncate(time.Second); tick.Before(end); tick = tick.Add(time.Second) {
		tokens := r.tokens[tick.UTC()]
		if len(tokens) == 0 {
			continue
		}
		if len(tokens) > 1 || tokens[0] <= before {
			t.Errorf("the tick %v ran with tokens %d, after %d", tick, tokens, before)
		}
		before = tokens[0]
		switch since := tick.Sub(failed); {
		case since < 0:
			early++
		case since < 20*time.Second:
			t.Errorf("the tick %v after the failover ran", since)
		default:
			late++
		}
	}
	if early < 60 || late < 25 {
		t.Errorf("%d ticks ran before the failover, %d after it", early, late)
	}
}

// A replica says that its store does not answer, and goes on when it does.
func TestStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		cut.Store(true)
		m := &kvtest.Memory{Fault: func(context.Context, kvtest.Call) error {
			if cut.Load() {
				return errors.New("cut off")
			}
			return nil
		}}
		var ran ranTicks
		r, err := New(Config{Replica: settings.Replica{ID: "a"}, Store: inMemory{m}, Logger: logTo(io.Discard), Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: ran.run}}})
		if err != nil {
			t.Fatal(err)
		}
		defer start(t.Context(), r)()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if why := r.NotReady(); len(why) != 1 || !strings.Contains(why[0], "waiting for the store") || !strings.Contains(why[0], "cut off") {
			t.Errorf("it is not ready for %q", why)
		}
		served(t, r, http.StatusServiceUnavailable, "cut off\n")
		cut.Store(false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if why := r.NotReady(); why != nil {
			t.Errorf("it is not ready for %q", why)
		}
		served(t, r, http.StatusOK, "ok\n")
		ran.mu.Lock()
		defer ran.mu.Unlock()
		if len(ran.tokens) < 20 {
			t.Errorf("%d ticks ran", len(ran.tokens))
		}
	})
}

// served checks what the replica says in the mux of a service.
func served(t *testing.T, r *Replica, status int, end string) {
	t.Helper()
	answer := httptest.NewRecorder()
	r.ServeReady(answer, nil)
	if body := answer.Body.String(); answer.Code != status || !strings.HasSuffix(body, end) {
		t.Errorf("it serves %d %q, want %d and %q at the end", answer.Code, body, status, end)
	}
}

// Ticks of an outage are not blamed on a replica that was awake: those that got no turn, since
// others waited for the store, say so.
func TestTicksOfAnOutageSayWhy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cut atomic.Bool
		m := &kvtest.Memory{Fault: func(ctx context.Context, c kvtest.Call) error {
			if cut.Load() && !c.Answered {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		if err := claims.DeclareNew(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		var ran ranTicks
		var list []jobs.Job
		for _, every := range []string{"1s", "2s", "5s"} {
			list = append(list, jobs.Job{Name: "j" + every, Spec: "@every " + every, Handler: ran.run})
		}
		var r *Replica
		for _, id := range []string{"a", "b", "c"} {
			var err error
			if r, err = New(Config{Replica: settings.Replica{ID: id}, Store: inMemory{m}, Logger: logTo(io.Discard), Jobs: list}); err != nil {
				t.Fatal(err)
			}
			defer start(t.Context(), r)()
		}
		time.Sleep(20 * time.Second)
		cut.Store(true)
		time.Sleep(15 * time.Second)
		cut.Store(false)
		time.Sleep(40 * time.Second)
		codes := map[ledger.Code]int{}
		for _, j := range list {
			rows, err := store.ForScheduler(r.store).Ledger.Ticks(t.Context(), ledger.Query{Job: j.Name, Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range rows {
				codes[e.Reason.Code]++
				if text := e.Reason.String(); e.Votes != (locking.Votes{}) || strings.Contains(text, "quorum") || strings.Contains(text, "node") {
					t.Errorf("on one store a tick has %d votes, and the reason %q", e.Votes.For, text)
				}
			}
		}
		if codes[ledger.CodeAsleep] > 0 || codes[ledger.CodeNoQuorum] < 10 {
			t.Errorf("the reasons are %v, want %s and none that says that a replica was asleep", codes, ledger.CodeNoQuorum)
		}
	})
}

// A program without the part says what it lacks.
func TestPostgresIsAPart(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.Postgres.URL = "postgres://127.0.0.1/app"
	_, err := newReplica(cfg, jobs.NewRegistry(), Config{})
	if err == nil || !strings.Contains(err.Error(), "replica.Config.Store") {
		t.Errorf("New = %v", err)
	}
}

// A store that answers and takes no writes makes no replica ready, whether it refuses them from
// the beginning or later. When it takes them again, replicas are ready, and nothing is asked of
// it besides what they write anyway.
func TestReadyMeansThatTheStoreTakesWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool
		var commits, probes atomic.Int64
		m := &kvtest.Memory{Fault: func(_ context.Context, c kvtest.Call) error {
			if c.Method != "Commit" || c.Answered {
				return nil
			}
			commits.Add(1)
			if len(c.Txn.Put) == 1 && c.Txn.Put[0].Key.Kind == kv.Cluster {
				probes.Add(1)
			}
			if full.Load() {
				return errors.New("no space")
			}
			return nil
		}}
		if err := claims.DeclareNew(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		r, err := New(Config{Replica: settings.Replica{ID: "a"}, Store: inMemory{m}, Logger: logTo(io.Discard), Jobs: []jobs.Job{{Name: "j", Spec: "0 0 1 1 *", Handler: new(ranTicks).run}}})
		if err != nil {
			t.Fatal(err)
		}
		defer start(t.Context(), r)()
		for range 2 {
			full.Store(true)
			time.Sleep(7 * time.Second) // a heartbeat, and a look
			synctest.Wait()
			if why := r.NotReady(); len(why) != 1 || !strings.Contains(why[0], "it answers, but takes no writes") || !strings.Contains(why[0], "no space") || strings.Contains(why[0], "does not answer") {
				t.Errorf("on a full store it is not ready for %q", why)
			}
			if row := view.NodeRows(r.store.Inspect(t.Context()), true)[0]; row.State != view.NodeRefusing || !strings.Contains(view.Text(row.Error), "no space") {
				t.Errorf("a full store is listed as %s", row.State)
			}
			full.Store(false)
			time.Sleep(15 * time.Second)
			synctest.Wait()
			if why := r.NotReady(); why != nil {
				t.Errorf("it is not ready for %q", why)
			}
		}
		probes.Store(0)
		commits.Store(0)
		time.Sleep(1000 * time.Second)
		if n := probes.Load(); n > 0 || commits.Load() < 150 {
			t.Errorf("%d of %d commits were probes, want none: it rests on the heartbeats", n, commits.Load())
		}
	})
}
