package cluster_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/dev/testkit/singletest"
	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A host is shown by a dashboard.
type host view.Host

func (h host) Shown() view.Host { return view.Host(h) }

// A pair is one cluster's service: directly, and over HTTP.
type pair struct {
	direct, remote cluster.Cluster
}

// newPair serves a cluster with two jobs, one of which has run three times and runs now, and a
// pause.
func newPair(t *testing.T) pair {
	t.Helper()
	c := singletest.New(t)
	control := view.ControlOf(c)
	token, stored := gate.NewToken()
	handler, err := dashboard.Mount(host{Control: control}, dashboard.Config{HTTP: settings.HTTP{Users: map[string]settings.User{"ann": {Role: identity.Admin, Token: settings.Secret(stored)}}}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		handler.Close()
		server.Close()
	})
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	remote, err := cluster.NewServer(server.URL, file)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, c)
	return pair{cluster.Cluster{Service: control}, remote}
}

// at is the tick of the n-th run, before the test.
var at = func() func(n int) time.Time {
	began := time.Now().UTC().Truncate(time.Minute).Add(-time.Hour)
	return func(n int) time.Time { return began.Add(time.Duration(n) * time.Minute) }
}()

func fill(t *testing.T, c *single.Cluster) {
	t.Helper()
	ctx, kept := t.Context(), c.Records()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, job := range []string{"report", "sweep"} {
		must(kept.Roster.Publish(ctx, []roster.JobInfo{{
			Name: job, Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: at(0), ConfigHash: "c1", Hash: "h", Tags: []string{"finance"},
		}}))
	}
	_, err := kept.Roster.Beat(ctx, roster.Replica{ID: "a", Host: "h", PID: 1, State: roster.StateReady, ConfigHash: "c1", Started: at(0)})
	must(err)
	must(kept.Roster.Leave(ctx, roster.Replica{ID: "b", Host: "h", PID: 2, Started: at(0)}))
	for n := range 4 {
		e := ledger.Entry{Job: "report", Tick: at(n), Outcome: ledger.Running, Trigger: ledger.BySchedule, Replica: "a", Started: at(n)}
		lease, err := c.Locker().TryAcquire(ctx, locking.Request{Name: e.Job, Tick: e.Tick, TTL: time.Hour, Holder: "a", Note: ledger.EncodeNote(e)})
		must(err)
		if n == 3 {
			break // it goes on
		}
		e.Token, e.Outcome, e.Finished = lease.Claim().Token, ledger.Succeeded, at(n).Add(time.Second)
		if n == 1 {
			e.Outcome, e.Error = ledger.Failed, "no <paper> & no ink"
		}
		must(lease.Release(ctx, ledger.EncodeNote(e)))
		must(kept.Ledger.Store(ctx, e.Job, jobs.History{}, ledger.Log{Job: e.Job, Tick: e.Tick, Token: e.Token, Text: fmt.Sprintf("run %d\n", n)}))
	}
	_, err = kept.Ledger.Record(ctx, ledger.Entry{Job: "sweep", Tick: at(2), Trigger: ledger.BySchedule, Outcome: ledger.Skipped, Reason: ledger.TextReason("it overlaps")})
	must(err)
	_, err = kept.Commands.Do(ctx, commands.Command{ID: "p1", Kind: commands.Pause, Tag: "finance", By: "bob", Reason: "closing of the year"})
	must(err)
}

// An ask is one call of the service.
type ask struct {
	name string
	call func(context.Context, view.Service) (any, error)
}

// one has the shape of most methods.
func one[R any](name string, call func(context.Context, view.Service) (R, error)) ask {
	return ask{name, func(ctx context.Context, s view.Service) (any, error) { return call(ctx, s) }}
}

// reads call every method that changes nothing.
func reads() []ask {
	list := func(name string, q view.EntryQuery) []ask {
		return []ask{
			one("ticks, "+name, func(ctx context.Context, s view.Service) (view.Page[view.Tick], error) { return s.Ticks(ctx, q) }),
			one("runs, "+name, func(ctx context.Context, s view.Service) (view.Page[view.Run], error) { return s.Runs(ctx, q) }),
			one("all ticks, "+name, func(ctx context.Context, s view.Service) ([]view.Tick, error) {
				return cluster.Entries(ctx, q, s.Ticks)
			}),
			one("all runs, "+name, func(ctx context.Context, s view.Service) ([]view.Run, error) { return cluster.Entries(ctx, q, s.Runs) }),
		}
	}
	asks := slices.Concat(
		list("of all jobs", view.EntryQuery{Limit: 10}),
		list("the first page", view.EntryQuery{Limit: 2}),
		list("of a job", view.EntryQuery{Limit: 10, Job: "report"}),
		list("pages of a job", view.EntryQuery{Limit: 1, Job: "report", Before: at(3), Since: at(1)}),
		list("that failed", view.EntryQuery{Limit: 10, Outcomes: []ledger.Outcome{ledger.Failed}, Triggers: []ledger.Trigger{ledger.BySchedule}}),
		list("with a reason", view.EntryQuery{Limit: 10, Job: "sweep", Reasons: []ledger.Code{ledger.CodeOverlap}}),
		list("of an unknown job", view.EntryQuery{Limit: 10, Job: "nobody"}),
	)
	run := "report@" + at(1).Format("20060102T150405.000Z")
	return append(asks,
		one("jobs", func(ctx context.Context, s view.Service) (view.Page[view.Job], error) {
			return s.Jobs(ctx, view.JobQuery{})
		}),
		one("a page of jobs", func(ctx context.Context, s view.Service) (view.Page[view.Job], error) {
			return s.Jobs(ctx, view.JobQuery{Limit: 1})
		}),
		one("the next page", func(ctx context.Context, s view.Service) (view.Page[view.Job], error) {
			return s.Jobs(ctx, view.JobQuery{Limit: 1, After: "report", Text: "SW"})
		}),
		one("replicas", func(ctx context.Context, s view.Service) ([]view.Replica, error) { return s.Replicas(ctx) }),
		one("left replicas", func(ctx context.Context, s view.Service) ([]view.Replica, error) { return s.Left(ctx) }),
		one("locks", func(ctx context.Context, s view.Service) ([]view.Lock, error) { return s.Locks(ctx) }),
		one("pauses", func(ctx context.Context, s view.Service) ([]view.Command, error) { return s.Pauses(ctx) }),
		one("nodes", func(ctx context.Context, s view.Service) ([]view.Node, error) { return s.Nodes(ctx) }),
		one("check", func(ctx context.Context, s view.Service) (view.Checkup, error) { return s.Check(ctx) }),
		one("attempts", func(ctx context.Context, s view.Service) ([]view.Tick, error) { return s.Attempts(ctx, run) }),
		one("attempts of no run", func(ctx context.Context, s view.Service) ([]view.Tick, error) {
			return s.Attempts(ctx, "report@20200101T000000.000Z")
		}),
		one("attempts of a bad ID", func(ctx context.Context, s view.Service) ([]view.Tick, error) { return s.Attempts(ctx, "report@x") }),
		one("log", func(ctx context.Context, s view.Service) (view.Log, error) { return s.Log(ctx, "", run, 0) }),
		one("log of an attempt", func(ctx context.Context, s view.Service) (view.Log, error) { return s.Log(ctx, "", run, 7) }),
		one("log of no run", func(ctx context.Context, s view.Service) (view.Log, error) {
			return s.Log(ctx, "", "sweep@"+at(2).Format("20060102T150405.000Z"), 0)
		}),
		one("next", func(ctx context.Context, s view.Service) ([]view.Next, error) { return s.Next(ctx, "", at(0), 5) }),
		one("next of a job", func(ctx context.Context, s view.Service) ([]view.Next, error) { return s.Next(ctx, "sweep", at(0), 2) }),
		one("next of nobody", func(ctx context.Context, s view.Service) ([]view.Next, error) { return s.Next(ctx, "nobody", at(0), 2) }),
		one("audit", func(ctx context.Context, s view.Service) (view.Page[view.Command], error) {
			return s.Audit(ctx, view.AuditQuery{Limit: 10})
		}),
		one("a part of the audit", func(ctx context.Context, s view.Service) (view.Page[view.Command], error) {
			return s.Audit(ctx, view.AuditQuery{Limit: 1, By: "BO", Job: "finance", Since: at(0), Kinds: []commands.Kind{commands.Pause}, Refused: new(false)})
		}),
		one("audit after an unknown command", func(ctx context.Context, s view.Service) (view.Page[view.Command], error) {
			return s.Audit(ctx, view.AuditQuery{Limit: 1, After: "nobody"})
		}),
	)
}

// changes call every command, in an order in which each can be done.
func changes() []ask {
	sign := func(c commands.Command) commands.Command {
		c.By, c.Reason = "ann", "so that it is tested"
		return c
	}
	pause := func(name string, command commands.Command, id string) ask {
		return one(name, func(ctx context.Context, s view.Service) (view.PauseResult, error) {
			return s.PauseOrResume(ctx, sign(command), id)
		})
	}
	backfill := func(name, job string, from, to time.Time, dry bool) ask {
		return one(name, func(ctx context.Context, s view.Service) ([]time.Time, error) {
			return s.Backfill(ctx, sign(commands.Command{Job: job, From: from, To: to, Within: time.Hour, Concurrency: 1}), dry)
		})
	}
	cancel := func(name string, command commands.Command, waiting bool) ask {
		return one(name, func(ctx context.Context, s view.Service) (view.Cancelled, error) {
			return s.Cancel(ctx, sign(command), waiting)
		})
	}
	trigger := func(name, job string, params json.RawMessage) ask {
		return one(name, func(ctx context.Context, s view.Service) (view.Command, error) {
			return s.Trigger(ctx, sign(commands.Command{Kind: commands.Trigger, Job: job, Params: params, Within: time.Minute}))
		})
	}
	release := func(name, lock string, token locking.Token) ask {
		return one(name, func(ctx context.Context, s view.Service) (view.Lock, error) {
			return s.Release(ctx, sign(commands.Command{Kind: commands.Release, Job: lock}), token)
		})
	}
	day := at(0).Truncate(24 * time.Hour)
	return []ask{
		trigger("trigger", "report", nil),
		trigger("trigger with params", "report", json.RawMessage(`{"x":1}`)),
		trigger("trigger nobody", "nobody", nil),
		pause("pause a job", commands.Command{Kind: commands.Pause, Job: "report"}, ""),
		pause("pause a tag that no job has", commands.Command{Kind: commands.Pause, Tag: "none"}, ""),
		pause("pause all", commands.Command{Kind: commands.Pause, All: true}, ""),
		pause("resume a job", commands.Command{Kind: commands.Resume, Job: "report"}, ""),
		pause("resume what was not paused", commands.Command{Kind: commands.Resume, Job: "sweep"}, ""),
		pause("resume by ID", commands.Command{Kind: commands.Resume}, "p1"),
		pause("resume an unknown ID", commands.Command{Kind: commands.Resume}, "p9"),
		pause("pause nobody", commands.Command{Kind: commands.Pause, Job: "nobody"}, ""),
		backfill("backfill, dry", "sweep", day, day.Add(3*time.Hour), true),
		backfill("backfill", "sweep", day.Add(-24*time.Hour), day.Add(-22*time.Hour), false),
		backfill("backfill of no range", "sweep", day, day.Add(-time.Hour), false),
		backfill("backfill without ticks", "sweep", day.Add(time.Minute), day.Add(2*time.Minute), true),
		cancel("cancel one", commands.Command{Job: "report", Run: "report@20200101T000000.000Z"}, false),
		cancel("cancel", commands.Command{Job: "report"}, true),
		cancel("cancel nothing", commands.Command{Job: "sweep"}, false),
		release("release", "report", 0),
		release("release again", "report", 0),
		release("release with a token", "nobody", 7),
	}
}

// TestBothServicesAgree calls every method of the service directly and over HTTP, and wants equal
// results, and errors that mean the same and say the same.
func TestBothServicesAgree(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	for _, a := range reads() {
		t.Run(a.name, func(t *testing.T) { agree(t, a, p.direct, p.remote, moving) })
	}
	// A command cannot be done twice, so each service has a cluster of its own.
	other, apart := newPair(t), slices.Concat(moving, ofOneCluster)
	for _, a := range changes() {
		t.Run(a.name, func(t *testing.T) { agree(t, a, p.direct, other.remote, apart) })
	}
	for _, a := range reads()[:4] {
		t.Run(a.name+" afterwards", func(t *testing.T) { agree(t, a, p.direct, other.remote, apart) })
	}
	covered(t, slices.Concat(reads(), changes()))
}

// Fields that differ between two calls, or by the table at the top of this package, and those that
// differ between two clusters.
var (
	moving       = []string{"rtt_ms", "offset_ms", "left_ms", "Advice"}
	ofOneCluster = []string{"id", "at", "by", "run", "since", "expires", "token", "closed", "result"}
)

// tokens are those in texts of errors.
var tokens = regexp.MustCompile(`token \d+`)

// agree compares the results of one call, without some fields.
func agree(t *testing.T, a ask, direct, remote view.Service, without []string) {
	t.Helper()
	want, wantErr := a.call(t.Context(), direct)
	got, gotErr := a.call(t.Context(), remote)
	if text, other := shown(t, want, without), shown(t, got, without); text != other {
		t.Errorf("directly\n%s\nover HTTP\n%s", text, other)
	}
	if kind(wantErr) != kind(gotErr) || said(wantErr) != said(gotErr) {
		t.Errorf("directly %v (%s), over HTTP %v (%s)", wantErr, kind(wantErr), gotErr, kind(gotErr))
	}
}

// shown is a result as text without some fields. No rows are as many as null.
func shown(t *testing.T, result any, without []string) string {
	t.Helper()
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "null", "[]"), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), `"`), `"`)
		if slices.Contains(without, name) {
			lines[i] = name
		}
	}
	return strings.Join(lines, "\n")
}

// kind is what an error means to commands.
func kind(err error) string {
	_, invalid := errors.AsType[*view.InvalidError](err)
	_, bad := errors.AsType[*commands.Error](err)
	switch {
	case err == nil:
		return "none"
	case errors.Is(err, view.ErrNotFound):
		return "not found"
	case errors.Is(err, locking.ErrNoQuorum):
		return "no quorum"
	case invalid, bad:
		return "bad usage"
	}
	return "failed"
}

func said(err error) string {
	if err == nil {
		return ""
	}
	return tokens.ReplaceAllString(err.Error(), "token")
}

// covered wants a call of every method: their names are those of the first word of an ask.
func covered(t *testing.T, asks []ask) {
	t.Helper()
	called := map[string]string{"PauseOrResume": "pause a job"}
	for _, a := range asks {
		word, _, _ := strings.Cut(strings.ReplaceAll(a.name, ",", ""), " ")
		called[strings.ToUpper(word[:1])+word[1:]] = a.name
	}
	for method := range reflect.TypeFor[view.Service]().Methods() {
		if called[method.Name] == "" {
			t.Errorf("%s is not called", method.Name)
		}
	}
}
