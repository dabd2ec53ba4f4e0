package traces_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
	"github.com/quorate/quorate/scheduler/traces"
)

// ran returns the spans of a replica that runs a job's function every ten seconds,
// for 15 seconds. The job may be changed.
func ran(t *testing.T, fn jobs.Handler, change func(*jobs.Job), options ...sdktrace.TracerProviderOption) tracetest.SpanStubs {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(kept))...)
	tracer := traces.New(provider)
	tracer.Begin("r1")
	locks := new(locktest.Memory)
	job := jobs.Job{Name: "report", Schedule: schedule.Every{Interval: 10 * time.Second}, Handler: fn}
	if change != nil {
		change(&job)
	}
	s, err := scheduler.New(scheduler.Config{
		Replica: "r1", Stores: scheduler.Stores{Locker: locks, Ledger: schedtest.NewLedger(locks)}, TTL: 3 * time.Second,
		Observer: tracer.Observe, Middleware: []jobs.Middleware{tracer.Middleware},
	}, []jobs.Job{job})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	time.Sleep(time.Second) // after the tick of now
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := tracer.Open(); n != 0 {
		t.Errorf("%d spans of ticks were never ended", n)
	}
	return kept.GetSpans()
}

// tree writes spans in the order in which they began, each indented below its
// parent, with its status, events and those attributes that differ.
func tree(spans tracetest.SpanStubs) string {
	depth := func(s tracetest.SpanStub) (n int) {
		for p := s.Parent.SpanID(); p.IsValid(); n++ {
			i := slices.IndexFunc(spans, func(o tracetest.SpanStub) bool { return o.SpanContext.SpanID() == p })
			if i < 0 {
				return -1
			}
			p = spans[i].Parent.SpanID()
		}
		return n
	}
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int {
		if c := a.StartTime.Compare(b.StartTime); c != 0 {
			return c
		}
		return depth(a) - depth(b)
	})
	var out strings.Builder
	for _, s := range spans {
		fmt.Fprintf(&out, "%s%s", strings.Repeat("  ", depth(s)), s.Name)
		if s.Status.Code == codes.Error {
			fmt.Fprintf(&out, " (%s)", s.Status.Description)
		}
		for _, a := range s.Attributes {
			if a.Key == traces.Outcome || a.Key == traces.Try {
				fmt.Fprintf(&out, " %s", a.Value.String())
			}
		}
		for _, e := range s.Events {
			fmt.Fprintf(&out, " [%s]", e.Name)
		}
		out.WriteString("\n")
	}
	return out.String()
}

func TestSpans(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		fn     jobs.Handler
		change func(*jobs.Job)
		want   string
	}{
		{"succeeds", func(ctx context.Context, _ jobs.Run) error {
			_, span := trace.SpanFromContext(ctx).TracerProvider().Tracer("app").Start(ctx, "query")
			defer span.End()
			time.Sleep(time.Millisecond)
			return nil
		}, nil, `
tick report succeeded
  claim
  run 1
    query
  finish
`},
		{"takes long", func(ctx context.Context, _ jobs.Run) error {
			_ = fence.Refused(ctx, &fence.StaleError{Resource: "table", Token: 1, Seen: 2})
			time.Sleep(1500 * time.Millisecond)
			return errors.New("boom")
		}, nil, `
tick report (failed) failed [stale write refused] [lease extended]
  claim
  run (boom) 1
  finish
`},
		{"is tried again", func(_ context.Context, run jobs.Run) error {
			if run.Call == 1 {
				return errors.New("boom")
			}
			return nil
		}, func(j *jobs.Job) { j.Retry = jobs.Retry{Attempts: 2} }, `
tick report succeeded [to be tried again]
  claim
  run (boom) 1
  run 2
  finish
`},
		{"skips its work", func(context.Context, jobs.Run) error { return jobs.Skip("no guests") }, nil, `
tick report skipped
  claim
  run 1
  finish
`},
		{"is paused", func(context.Context, jobs.Run) error { return nil }, func(j *jobs.Job) { j.Paused = true }, `
tick report skipped
`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if got := "\n" + tree(ran(t, tt.fn, tt.change)); got != tt.want {
					t.Errorf("got%swant%s", got, tt.want)
				}
			})
		})
	}
}

func TestAttributes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		spans := ran(t, func(context.Context, jobs.Run) error { return nil }, func(j *jobs.Job) { j.Spec = "@every 10s" })
		for name, want := range map[string]string{
			"tick report": "job=report run=report@20000101T000010.000Z token= attempt=1 replica=r1 tick=2000-01-01T00:00:10Z trigger=schedule outcome=succeeded",
			"run":         "faas.trigger=timer job=report tick=2000-01-01T00:00:10Z token= attempt=1 try=1 run=report@20000101T000010.000Z trigger=schedule replica=r1 faas.cron=@every 10s",
		} {
			i := slices.IndexFunc(spans, func(s tracetest.SpanStub) bool { return s.Name == name })
			var got []string
			for _, a := range spans[i].Attributes {
				value := a.Value.String()
				if a.Key == traces.Token && value != "0" {
					value = ""
				}
				got = append(got, strings.TrimPrefix(string(a.Key), "quorate.")+"="+value)
			}
			if text := strings.Join(got, " "); text != want {
				t.Errorf("%s has %s, want %s", name, text, want)
			}
		}
	})
}

// Without spans the function still runs.
func TestUnsampled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		called := 0
		spans := ran(t, func(context.Context, jobs.Run) error { called++; return nil }, nil, sdktrace.WithSampler(sdktrace.NeverSample()))
		if len(spans) != 0 || called != 1 {
			t.Errorf("%d spans, %d calls", len(spans), called)
		}
	})
}

// What comes without a beginning, or ends without a run, leaves nothing open.
func TestUnusedClaims(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	tracer := traces.New(sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept)))
	tracer.Begin("r1")
	run := ledger.Entry{Job: "report", Token: 7}
	tracer.Observe(event.Event{Kind: event.LeaseLost, Entry: run, Err: locking.ErrLeaseLost})
	tracer.Observe(event.Event{Kind: event.Claimed, Entry: run, Took: time.Millisecond})
	tracer.Observe(event.Event{Kind: event.Unused, Entry: run})
	if got, want := tree(kept.GetSpans()), "tick report (the claim came too late to begin the work, and was given back)\n  claim\n"; got != want || tracer.Open() != 0 {
		t.Errorf("got %q and %d open, want %q", got, tracer.Open(), want)
	}
}
