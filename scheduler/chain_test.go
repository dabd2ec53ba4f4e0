package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// watchedCommands records requests, and what the ledger knew by then.
type watchedCommands struct {
	commands.Store
	cluster *cluster
	asked   []string
	fails   int // calls that fail
}

func (w *watchedCommands) Do(ctx context.Context, command commands.Command) (commands.Command, error) {
	if w.fails > 0 {
		w.fails--
		return commands.Command{}, locking.ErrNoQuorum
	}
	outcome := w.cluster.ticks("first")[0].Outcome
	w.asked = append(w.asked, fmt.Sprint(command.Job, " by ", command.Trigger, " of ", command.Parent, " while ", outcome))
	return w.Store.Do(ctx, command)
}

// chained runs the first tick of a job that ends with err, or takes too long, and returns
// its requests.
func chained(t *testing.T, fails int, handler jobs.Handler) (asked []string, first ledger.Entry) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		commands := &watchedCommands{Store: c.commands, cluster: c, fails: fails}
		job := every(t, "10m", "first", handler)
		job.Timeout = 20 * time.Second
		job.OnSuccess, job.OnFailure = []string{"good", "better"}, []string{"bad"}
		list := []jobs.Job{job}
		for _, name := range []string{"good", "better", "bad"} {
			list = append(list, every(t, "1000h", name, c.handler(nil)))
		}
		stop := c.start(c.replica("a", func(cfg *scheduler.Config) { cfg.Commands = commands }, list...))
		time.Sleep(11 * time.Minute)
		c.stop(stop)
		asked, first = commands.asked, c.ticks("first")[0]
	})
	return asked, first
}

// A run requests the jobs that follow its end, and nothing else, while it still holds its
// lease.
func TestChainFollowsTheOutcome(t *testing.T) {
	t.Parallel()
	const by = " by chain of first@20000101T001000.000Z while running"
	for _, tt := range []struct {
		name    string
		handler jobs.Handler
		want    []string
	}{
		{"succeeds", func(context.Context, jobs.Run) error { return nil }, []string{"good" + by, "better" + by}},
		{"fails", func(context.Context, jobs.Run) error { return errors.New("broken") }, []string{"bad" + by}},
		{"times out", func(ctx context.Context, _ jobs.Run) error { <-ctx.Done(); return ctx.Err() }, []string{"bad" + by}},
		{"skips", func(context.Context, jobs.Run) error { return jobs.Skip("nothing to do") }, nil},
	} {
		if got, _ := chained(t, 0, tt.handler); !slices.Equal(got, tt.want) {
			t.Errorf("a run that %s asks for\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// Without a quorum a run tries again while its lease lasts; then the ledger has the
// failure.
func TestChainIsAskedForAgain(t *testing.T) {
	t.Parallel()
	fine := func(context.Context, jobs.Run) error { return nil }
	if got, e := chained(t, 3, fine); len(got) != 2 || !e.Reason.IsZero() {
		t.Errorf("after three failures %q was asked for, and the reason is %q", got, e.Reason)
	}
	got, e := chained(t, 1000, fine)
	if len(got) != 0 || e.Outcome != ledger.Succeeded || !strings.Contains(e.Reason.String(), "good was not triggered") {
		t.Errorf("without a quorum %q was asked for, and the ledger has %s: %s", got, e.Outcome, e.Reason)
	}
}

// A request of an earlier attempt with another end counts as made.
func TestChainAskedForByAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t)
		store := c.commands
		job := every(t, "10m", "first", c.handler(nil))
		job.OnSuccess = []string{"good"}
		run := ledger.Entry{Job: "first", Tick: c.begun.Add(10 * time.Minute)}.ID()
		if _, err := store.Do(t.Context(), commands.Command{
			ID: scheduler.ChainID(run, "good"), Kind: commands.Trigger, Job: "good", Trigger: ledger.ByChain, Parent: run, By: "first", Reason: "its run failed",
		}); err != nil {
			t.Fatal(err)
		}
		stop := c.start(c.replica("a", func(cfg *scheduler.Config) { cfg.Commands = store }, job, every(t, "1000h", "good", c.handler(nil))))
		time.Sleep(11 * time.Minute)
		c.stop(stop)
		if e := c.ticks("first")[0]; e.Outcome != ledger.Succeeded || !e.Reason.IsZero() {
			t.Errorf("the ledger has %s: %s", e.Outcome, e.Reason)
		}
	})
}

// All attempts of a run make the same request, so it is done once.
func TestChainIDIsStable(t *testing.T) {
	t.Parallel()
	e := ledger.Entry{Job: "first", Tick: time.Unix(1_800_000_000, 0), Token: 7, Attempt: 1}
	again := e
	again.Token, again.Attempt, again.Replica = 8, 2, "b"
	id := scheduler.ChainID(e.ID(), "second")
	if !strings.HasPrefix(id, "+") || id != scheduler.ChainID(again.ID(), "second") || id == scheduler.ChainID(e.ID(), "third") {
		t.Errorf("ids of requests: %s, by the next attempt %s", id, scheduler.ChainID(again.ID(), "second"))
	}
	store := newCluster(t).commands
	if _, err := store.Do(t.Context(), commands.Command{ID: id, Kind: commands.Trigger, Job: "second", By: "somebody"}); err == nil {
		t.Error("somebody uses up the id of a run's request")
	}
	command := commands.Command{ID: id, Kind: commands.Trigger, Job: "second", Trigger: ledger.ByChain, Parent: e.ID()}
	for range 2 {
		if _, err := store.Do(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	if open, err := store.Open(t.Context()); err != nil || len(open.Requests) != 1 {
		t.Errorf("%d requests are open, %v; want one", len(open.Requests), err)
	}
}

func TestChainsThatCannotBe(t *testing.T) {
	t.Parallel()
	job := func(name string, then ...string) jobs.Job {
		j := every(t, "1h", name, func(context.Context, jobs.Run) error { return nil })
		j.OnFailure = then
		return j
	}
	for want, list := range map[string][]jobs.Job{
		`"a" triggers "x", which is not a job`: {job("a", "x")},
		"without end: a → a":                   {job("a", "a")},
		"without end: b → c → d → b":           {job("a", "b"), job("b", "c"), job("c", "d"), job("d", "b")},
		"":                                     {job("a", "b", "c"), job("b", "d"), job("c", "d"), job("d")},
	} {
		_, err := scheduler.New(scheduler.Config{Replica: "a", Stores: scheduler.Stores{Locker: lateLocker{}, Ledger: &schedtest.Ledger{}}}, list)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("New = %v, want an error with %q", err, want)
		}
	}
}
