package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// What one replica did not do is no warning. A missed tick is one once the ledger says so, and an
// outage is one line at its start and one at its end, without the address of the store.
func TestWarningsOfTicksThatDidNotRun(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	e := events{slog.New(slog.NewTextHandler(&log, nil)), new(unrecorded)}
	down := fmt.Errorf("%w: failed to connect to user=shop database=app", locking.ErrNoQuorum)
	en := ledger.Entry{
		Job: "j", Outcome: ledger.Missed,
		Reason: ledger.Reason{Code: ledger.CodeNoQuorum, Variant: ledger.VariantStore, Details: &ledger.Details{Text: down.Error()}},
	}
	for range 3 {
		e.observe(event.Event{Kind: event.Decided, Entry: en})
		e.observe(event.Event{Kind: event.Recorded, Entry: en, Err: down})
	}
	warnings := func() int { return strings.Count(log.String(), "level=WARN") }
	if warnings() != 1 || !strings.Contains(log.String(), "the ledger cannot be written") {
		t.Errorf("during the outage:\n%s", log.String())
	}
	for range 2 { // two of them were run by others
		e.observe(event.Event{Kind: event.Recorded, Entry: en})
	}
	e.observe(event.Event{Kind: event.Recorded, Entry: en})
	e.observe(event.Event{Kind: event.Settled, Entry: en})
	text := log.String()
	if warnings() != 2 || strings.Count(text, `msg="tick missed"`) != 1 || strings.Count(text, "ticks=3") != 1 || strings.Contains(text, "user=") || strings.Contains(text, "quorum ") {
		t.Errorf("after the outage:\n%s", text)
	}
	if strings.Count(text, `msg="not run here"`) != 3 || !strings.Contains(text, "the store did not answer") {
		t.Errorf("the log lacks what this replica did not do:\n%s", text)
	}
	for range 3 { // too many wait
		e.observe(event.Event{Kind: event.Recorded, Entry: en, Err: event.ErrDropped})
		e.observe(event.Event{Kind: event.Settled, Entry: en, Err: event.ErrDropped})
	}
	text = log.String()
	if warnings() != 3 || strings.Count(text, "are given up") != 1 || strings.Count(text, "it is not known whether another replica ran the tick") != 3 {
		t.Errorf("the log of ticks that are given up:\n%s", text)
	}
	e.observe(event.Event{Kind: event.Recorded, Entry: en, Err: down}) // another outage
	e.observe(event.Event{Kind: event.Settled, Entry: en, Err: event.ErrDropped})
	if text = log.String(); warnings() != 5 || strings.Count(text, "are given up") != 2 {
		t.Errorf("the log of another outage:\n%s", text)
	}
	en.Outcome = ledger.Skipped
	e.observe(event.Event{Kind: event.Settled, Entry: en})
	if text = log.String(); warnings() != 5 || !strings.Contains(text, `level=INFO msg="tick skipped"`) {
		t.Errorf("the log of a skipped tick:\n%s", text)
	}
}

// A line about strangers names at most twenty jobs, or says why it names none.
func TestWarningsOfStrangers(t *testing.T) {
	t.Parallel()
	var log logtest.Buffer
	e := events{slog.New(slog.NewTextHandler(&log, nil)), new(unrecorded)}
	e.observe(event.Event{Kind: event.Stranger, Other: "b", Err: errors.New("the set is too large")})
	if text := log.String(); !strings.Contains(text, `level=WARN msg="another live replica serves another set of jobs`) || !strings.Contains(text, "too large") {
		t.Errorf("the log of a set that is too large:\n%s", text)
	}
	names := make([]string, 30)
	for i := range names {
		names[i] = fmt.Sprintf("job%02d", i)
	}
	e.observe(event.Event{Kind: event.Stranger, Other: "b", Jobs: names})
	if text := log.String(); !strings.Contains(text, "jobs=30") || !strings.Contains(text, "job19") || strings.Contains(text, "job20") {
		t.Errorf("the log of thirty jobs:\n%s", text)
	}
}

// An outage is one warning in the log of a run, however many tries to extend its lease fail, and one line
// when it is over, or the lease is lost. Observers hear of each try.
func TestLeaseThatIsNotExtendedIsToldOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{"silent": errors.New("no answer"), "refusing": kvtest.Refusal("it is full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var down atomic.Bool
				m := declaredNew(t)
				m.Fault = func(context.Context, kvtest.Call) error {
					if down.Load() {
						return fault
					}
					return nil
				}
				var log logtest.Buffer
				var failed atomic.Int64
				r, err := New(Config{
					Replica: settings.Replica{ID: "a"}, Store: m, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
					Observer: func(e event.Event) {
						if e.Kind == event.Extended && e.Err != nil {
							failed.Add(1)
						}
					},
					Jobs: []jobs.Job{{Name: "j", Spec: "@every 1m", Handler: func(ctx context.Context, _ jobs.Run) error {
						<-ctx.Done()
						return ctx.Err()
					}}},
				})
				if err != nil {
					t.Fatal(err)
				}
				stop := start(t.Context(), r)
				expect := func(notExtended, again, lost int) {
					t.Helper()
					text := log.String()
					for line, want := range map[string]int{
						`level=WARN msg="lease not extended"`:   notExtended,
						`level=INFO msg="lease extended again"`: again,
						`level=WARN msg="lease lost: the run`:   lost,
					} {
						if n := strings.Count(text, line); n != want {
							t.Errorf("the log has %d times %s, want %d:\n%s", n, line, want, text)
						}
					}
					if debug := strings.Count(text, `level=DEBUG msg="lease not extended"`); debug+notExtended != int(failed.Load()) {
						t.Errorf("%d extensions failed, and the log has %d:\n%s", failed.Load(), debug+notExtended, text)
					}
				}
				time.Sleep(67 * time.Second) // the run began at 60, and extends its lease of 15 s each 5 s
				expect(0, 0, 0)
				down.Store(true)
				time.Sleep(7 * time.Second)
				if failed.Load() < 3 {
					t.Errorf("only %d extensions failed", failed.Load())
				}
				expect(1, 0, 0)
				down.Store(false)
				time.Sleep(10 * time.Second)
				expect(1, 1, 0)
				down.Store(true)
				time.Sleep(30 * time.Second)
				expect(2, 1, 1)
				down.Store(false)
				if err := stop(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A program's own attribute "replica" stays the only one of that name, in lines of the replica and of
// runs.
func TestReplicaOfTheProgramsLogger(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := declaredNew(t)
		var log logtest.Buffer
		own := slog.New(slog.NewJSONHandler(&log, nil)).With("replica", "eu-1")
		r, err := New(Config{Replica: settings.Replica{ID: "web"}, Store: m, Logger: own, Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: func(_ context.Context, run jobs.Run) error {
			run.Logger.Info("hello")
			return nil
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		stop := start(t.Context(), r)
		time.Sleep(3 * time.Second)
		if err := stop(); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(log.String()) {
			if strings.Count(line, `"replica":"eu-1"`) != 1 || strings.Count(line, `"quorate":{"replica":"web"}`) != 1 || strings.Count(line, `"replica"`) != 2 {
				t.Errorf("a line has %s", line)
			}
		}
		if !strings.Contains(log.String(), "hello") {
			t.Errorf("the log has no line of a run:\n%s", log.String())
		}
	})
}
