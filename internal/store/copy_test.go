package store_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// everyWay runs a test for each direction, with a store to copy and an empty one.
func everyWay(t *testing.T, test func(t *testing.T, from *filled, to world)) {
	t.Helper()
	t.Parallel()
	for a, from := range kinds {
		for b, to := range kinds {
			t.Run(a+" to "+b, func(t *testing.T) {
				t.Parallel()
				test(t, fill(t, from(t)), to(t))
			})
		}
	}
}

// copyTo copies once nobody holds a lease.
func copyTo(t *testing.T, from, to store.Side) (n store.Counts) {
	t.Helper()
	soon(t, func() (err error) {
		n, err = store.Copy(t.Context(), from, to, "ann")
		return err
	})
	return n
}

// fails copies, and wants an error with the text, once nobody holds a lease.
func fails(t *testing.T, from, to store.Side, text string) {
	t.Helper()
	soon(t, func() error {
		_, err := store.Copy(t.Context(), from, to, "ann")
		if err == nil || !strings.Contains(err.Error(), text) {
			return errors.Join(errors.New("want "+text), err)
		}
		return nil
	})
}

func TestEverythingIsCopied(t *testing.T) {
	everyWay(t, func(t *testing.T, from *filled, to world) {
		got := copyTo(t, from, to)
		want := store.Counts{Names: 4, Runs: 7, NotRun: 1, Logs: 1, Commands: 7, Pauses: 1, Requests: 1}
		if got != want {
			t.Errorf("copied %+v, want %+v", got, want)
		}
		must(t, to.join(t.Context()))
		old, now := from.Records(), to.Records()
		for _, job := range []string{"report", "again", "trimmed"} {
			stretch := []ledger.Stretch{{Job: job, Limit: 100}}
			a, err := old.Ledger.Skim(t.Context(), stretch, false)
			must(t, err)
			b, err := now.Ledger.Skim(t.Context(), stretch, false)
			must(t, err)
			if len(a[0].Entries) == 0 || !reflect.DeepEqual(a, b) {
				t.Errorf("the ledger of %s: %+v\nwas %+v", job, b, a)
			}
			if a[0].TrimmedSuccess.IsZero() == (job == "trimmed") {
				t.Errorf("the last success of %s that was dropped: %v", job, a[0].TrimmedSuccess)
			}
		}
		if log, err := now.Ledger.Log(t.Context(), "report", from.at(3), from.last["report"]); err != nil || log.Text != "hello\n" {
			t.Errorf("the log is %+v, %v", log, err)
		}
		if set, err := now.JobSets.JobSet(t.Context(), "set"); err != nil || string(set) != "packed" {
			t.Errorf("the set of jobs is %q, %v", set, err)
		}
		force, err := old.Commands.Open(t.Context())
		must(t, err)
		if same, err := now.Commands.Open(t.Context()); err != nil || !reflect.DeepEqual(same, force) || len(same.Pauses) != 1 || len(same.Requests) != 1 {
			t.Errorf("in force: %+v, %v; was %+v", same, err, force)
		}
		before, err := old.Commands.Audit(t.Context(), 100)
		must(t, err)
		audit, err := now.Commands.Audit(t.Context(), 100)
		if err != nil || len(audit) != len(before)+1 || !reflect.DeepEqual(audit[1:], before) || audit[0].Kind != commands.Copy || audit[0].By != "ann" {
			t.Errorf("the audit log is %+v, %v\nwas %+v", audit, err, before)
		}
		command := commands.Command{ID: "4", Kind: commands.Trigger, Job: "report", By: "ann", Reason: "test", Within: time.Hour}
		if again, err := now.Commands.Do(t.Context(), command); err != nil || !again.At.Equal(force.Requests[0].At) {
			t.Errorf("a request of before, asked for again: %+v, %v", again, err)
		}
	})
}

// Nothing is left of what a forgotten job had dropped.
func TestForgottenJobHasNoLastSuccess(t *testing.T) {
	t.Parallel()
	for kind, open := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			f := fill(t, open(t))
			soon(t, func() error { return errors.Join(f.forget(t.Context(), "trimmed"), known(t, f.world, "trimmed")) })
			list, err := f.Records().Ledger.Skim(t.Context(), []ledger.Stretch{{Job: "trimmed", Limit: 10}}, true)
			if must(t, err); len(list[0].Entries) > 0 || !list[0].Trimmed.IsZero() || !list[0].TrimmedSuccess.IsZero() {
				t.Errorf("it has %+v", list)
			}
		})
	}
}

// No tick runs again, and tokens grow.
func TestClaimsGoOn(t *testing.T) {
	everyWay(t, func(t *testing.T, from *filled, to world) {
		copyTo(t, from, to)
		if m, err := to.Memory(t.Context()); err != nil || m.Fence < uint64(from.last["gone"]) {
			t.Errorf("the target knows %d as the largest token, %v; want at least %d", m.Fence, err, from.last["gone"])
		}
		must(t, to.join(t.Context()))
		next := &filled{world: to, t: t, start: from.start, last: map[string]locking.Token{}}
		refused := func(job string, n int, mode locking.Mode, want error) {
			t.Helper()
			if _, err := to.locker.TryAcquire(t.Context(), locking.Request{Name: job, Tick: from.at(n), Mode: mode}); !errors.Is(err, want) {
				t.Errorf("tick %d of %s: %v, want %v", n, job, err, want)
			}
		}
		refused("report", 1, locking.AtMostOnce, locking.ErrSuperseded)
		refused("report", 3, locking.AtMostOnce, locking.ErrClaimed)
		refused("report", 3, locking.AtLeastOnce, locking.ErrClaimed)
		refused("again", 1, locking.AtLeastOnce, locking.ErrSuperseded)
		refused("again", 2, locking.AtMostOnce, locking.ErrClaimed)
		refused("gone", 5, locking.AtMostOnce, locking.ErrSuperseded)
		refused("unknown", 5, locking.AtMostOnce, locking.ErrSuperseded)
		next.run("again", 2, locking.AtLeastOnce)
		refused("again", 2, locking.AtLeastOnce, locking.ErrDone)
		next.run("report", 4, locking.AtMostOnce)
		next.run("gone", 6, locking.AtMostOnce)
		must(t, next.acquire(locking.Request{Name: "plain"}).Release(t.Context(), nil))
		for name, token := range next.last {
			for other, old := range from.last {
				if token <= old {
					t.Errorf("%s: token %d after %d of %s", name, token, old, other)
				}
			}
		}
		list, err := to.Records().Ledger.Runs(t.Context(), ledger.Query{Job: "again", Limit: 10})
		if err != nil || len(list) != 3 || list[0].Outcome != ledger.Succeeded || list[0].Attempt != 2 || list[1].Outcome != ledger.Interrupted {
			t.Errorf("a rerun of a tick of the old store: %+v, %v", list, err)
		}
	})
}

// A store that is in use is not copied, and nothing is overwritten.
func TestRefusals(t *testing.T) {
	everyWay(t, func(t *testing.T, from *filled, to world) {
		wants := func(text string) { t.Helper(); fails(t, from, to, text) }
		lease := from.acquire(locking.Request{Name: "report", Tick: from.at(7), Holder: "b", TTL: ttl})
		wants(" by b with token ")
		must(t, lease.Release(t.Context(), nil))
		_, err := from.Records().Roster.Beat(t.Context(), roster.Replica{ID: "c"})
		must(t, err)
		wants("replica c uses ")
		must(t, from.Records().Roster.Leave(t.Context(), roster.Replica{ID: "c"}))
		soon(t, func() error {
			_, err := store.Copy(t.Context(), from, silent{to}, "ann")
			if !errors.Is(err, errCut) {
				return err
			}
			if strings.Contains(err.Error(), "empty") {
				t.Errorf("%v: nobody has looked if it may be emptied", err)
			}
			return nil
		})
		must(t, to.isNew(t.Context()))
		other := &filled{world: to, t: t, start: from.start, last: map[string]locking.Token{}}
		other.run("mine", 1, locking.AtMostOnce)
		wants("empty it, or copy to another namespace")
		other.run("mine", 2, locking.AtMostOnce) // it is still open
	})
}

// A disturbed target is disturbed while the ledger of a job is written.
type disturbed struct {
	store.Side
	disturb func() error
}

func (d disturbed) PutEntries(ctx context.Context, job string, all ledger.Skimmed) error {
	if err := d.disturb(); err != nil {
		return err
	}
	return d.Side.PutEntries(ctx, job, all)
}

var errCut = errors.New("cut off")

// A silent store does not answer Begin. It may be another one than the target was meant to be.
type silent struct{ store.Side }

func (silent) Begin(context.Context) (time.Time, error) { return time.Time{}, errCut }

// A copy that was cut off leaves a target that refuses replicas, another copy, and to be the
// source of one.
func TestCutOff(t *testing.T) {
	everyWay(t, func(t *testing.T, from *filled, to world) {
		fails(t, from, disturbed{to, func() error { return errCut }}, "cut off; the copy is not complete: empty ")
		for what, try := range map[string]func() error{
			"a replica": func() error { return to.join(t.Context()) },
			"a claim": func() error {
				_, err := to.locker.TryAcquire(t.Context(), locking.Request{Name: "new", Tick: time.Now().Truncate(time.Second)})
				return err
			},
			"a copy of half a copy": func() error {
				_, err := store.Copy(t.Context(), to, from, "ann")
				return err
			},
			"another copy": func() error {
				_, err := store.Copy(t.Context(), from, to, "ann")
				return err
			},
			"init": func() error { return to.isNew(t.Context()) },
		} {
			if err := try(); err == nil {
				t.Errorf("%s is not refused", what)
			}
		}
	})
}

// A replica that comes and goes during the copy is noticed.
func TestReplicaMeanwhile(t *testing.T) {
	everyWay(t, func(t *testing.T, from *filled, to world) {
		n := 10
		fails(t, from, disturbed{to, func() error {
			n++
			from.run("report", n, locking.AtMostOnce)
			return nil
		}}, "a replica has used ")
	})
}

// A requested target is asked for while the commands of the source are written to it.
type requested struct {
	store.Side
	request func(context.Context) error
}

func (r requested) PutCommands(ctx context.Context, list []commands.Command) error {
	if err := r.request(ctx); err != nil {
		return err
	}
	return r.Side.PutCommands(ctx, list)
}

// What an application asks of the source before the copy is copied, and not lost during the copy.
func TestApplicationMeanwhile(t *testing.T) {
	t.Parallel()
	from := fill(t, onOne(t))
	must(t, from.queue(t.Context()))
	to := onOne(t)
	if n := copyTo(t, from, to); n.Requests != 2 {
		t.Errorf("%d requests are copied, want that of the application, too", n.Requests)
	}
	fails(t, from, requested{onOne(t), from.queue}, "requests of applications wait in namespace copy on memory (1)")
}
