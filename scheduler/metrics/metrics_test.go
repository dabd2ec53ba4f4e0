package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/metrics"
)

// values returns what m tells, by name{label values in order}: of counters and
// gauges their value, of histograms how many were observed.
func values(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(m); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			var labels []string
			for _, l := range metric.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			name := fmt.Sprintf("%s{%s}", strings.TrimPrefix(f.GetName(), "quorate_"), strings.Join(labels, ","))
			got[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return got
}

// want compares some of the values, and that all others are as they were.
func want(t *testing.T, before, got, changed map[string]float64) {
	t.Helper()
	for name := range got {
		want, change := changed[name]
		if !change {
			want = before[name]
		}
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	for name := range changed {
		if _, ok := got[name]; !ok {
			t.Errorf("there is no %s", name)
		}
	}
}

var (
	noon    = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	errBoom = errors.New("boom")
)

func ended(o ledger.Outcome, code ledger.Code) ledger.Entry {
	return ledger.Entry{
		Job: "report", Tick: noon, Token: 7, Calls: 1, Outcome: o, Reason: ledger.Reason{Code: code},
		Started: noon, Finished: noon.Add(2500 * time.Millisecond), Trigger: ledger.BySchedule,
	}
}

func TestWhatEventsCount(t *testing.T) {
	t.Parallel()
	run := ended(ledger.Running, "")
	settled := func(o ledger.Outcome, code ledger.Code) event.Event {
		return event.Event{Kind: event.Settled, Entry: ended(o, code)}
	}
	finished := func(o ledger.Outcome, code ledger.Code) event.Event {
		return event.Event{Kind: event.Finished, Entry: ended(o, code)}
	}
	handed := finished(ledger.Interrupted, ledger.CodeDrained)
	unkept := finished(ledger.LeaseLost, ledger.CodeLost)
	unkept.Err = errBoom
	caughtUp := run
	caughtUp.Trigger = ledger.ByCatchUp
	var refused []event.Event
	for _, err := range []error{
		locking.ErrTaken, locking.ErrClaimed, locking.ErrDone, locking.ErrSuperseded, locking.ErrUnvouched, locking.ErrSplit,
		locking.ErrNoQuorum, locking.ErrTooSlow, locking.ErrFuture, locking.ErrRefused, errBoom, context.Canceled,
	} {
		refused = append(refused, event.Event{Kind: event.Tried, Took: time.Second, Err: &locking.AcquireError{Reason: err}})
	}
	tests := []struct {
		name   string
		events []event.Event
		want   map[string]float64
	}{
		{"a run that succeeds", []event.Event{
			{Kind: event.Tried, Took: time.Millisecond},
			{Kind: event.Claimed, Entry: run, Took: time.Millisecond},
			{Kind: event.Started, Entry: run, By: time.Second},
			{Kind: event.Released, Entry: run, Left: time.Second, Took: time.Millisecond},
			finished(ledger.Succeeded, ""),
		}, map[string]float64{
			"claims_total{won}": 1, "claim_duration_seconds{}": 1, "start_delay_seconds{}": 1,
			"lease_validity_left_seconds{finish}": 1, "release_duration_seconds{}": 1,
			"ticks_total{report,succeeded}": 1, "run_duration_seconds{report}": 1,
			"job_last_success_timestamp_seconds{report}": float64(noon.Unix()) + 2.5,
		}},
		{"a run that goes on", []event.Event{
			{Kind: event.Claimed, Entry: run},
			{Kind: event.Extended, Entry: run},
			{Kind: event.Extended, Entry: run, Err: locking.ErrNoQuorum},
			{Kind: event.Overdue, Entry: run, Since: noon},
			{Kind: event.Late, Entry: run, By: time.Minute},
			{Kind: event.Refused, Entry: run, Err: &fence.StaleError{}},
		}, map[string]float64{
			"runs_in_progress{}": 1, "lease_extensions_total{extended}": 1, "lease_extensions_total{failed}": 1,
			"lease_extension_duration_seconds{}": 2, "lease_validity_left_seconds{extension}": 2,
			"runs_overdue{}": 1, "runs_late_total{report}": 1, "stale_writes_refused_total{report}": 1,
		}},
		{"an overdue run that ends, and loses its lease", []event.Event{
			{Kind: event.Claimed, Entry: run},
			{Kind: event.Extended, Entry: run, Err: locking.ErrMaxHold},
			{Kind: event.LeaseLost, Entry: run, Err: locking.ErrLeaseLost},
			{Kind: event.Overdue, Entry: run, Since: noon},
			unkept,
		}, map[string]float64{
			"lease_extensions_total{lost}": 1, "lease_extension_duration_seconds{}": 1, "lease_validity_left_seconds{extension}": 1,
			"leases_lost_total{}": 1, "ticks_total{report,lease_lost}": 1, "tick_reasons_total{lease_lost,lost}": 1,
			"run_duration_seconds{report}": 1, "ledger_failures_total{end}": 1,
		}},
		{"a run that is handed over", []event.Event{{Kind: event.Claimed, Entry: run}, handed}, map[string]float64{"run_duration_seconds{report}": 1}},
		{"a claim given back", []event.Event{{Kind: event.Claimed, Entry: run}, {Kind: event.Unused, Entry: run}}, nil},
		// How late it is is no delay of the scheduler.
		{"a run caught up", []event.Event{{Kind: event.Started, Entry: caughtUp, By: time.Hour}}, nil},
		{"ticks that nobody ran", []event.Event{
			{Kind: event.Decided, Entry: ended(ledger.Missed, ledger.CodeNoQuorum)}, // as each replica that noticed is told
			settled(ledger.Missed, ledger.CodeNoQuorum),
			settled(ledger.Skipped, ledger.CodeOverlap),
			settled(ledger.Missed, "of_a_later_release"),
		}, map[string]float64{
			"ticks_total{report,missed}": 2, "ticks_total{report,skipped}": 1,
			"tick_reasons_total{missed,no_quorum}": 1, "tick_reasons_total{skipped,overlap}": 1, "tick_reasons_total{missed,other}": 1,
		}},
		{"refused tries", refused, map[string]float64{
			"claims_total{taken}": 1, "claims_total{claimed}": 1, "claims_total{done}": 1, "claims_total{superseded}": 1,
			"claims_total{unvouched}": 1, "claims_total{split}": 1, "claims_total{no_quorum}": 1, "claims_total{too_slow}": 1,
			"claims_total{clock}": 1, "claims_total{refused}": 1, "claims_total{failed}": 1, "claims_total{cancelled}": 1,
		}},
		{"what goes wrong around", []event.Event{
			{Kind: event.Recorded},
			{Kind: event.Recorded, Err: errBoom},
			{Kind: event.NotArchived, Entry: run, Err: errBoom},
			{Kind: event.Unread, Entry: run, Err: errBoom},
			{Kind: event.ClockJumped, By: time.Hour},
			{Kind: event.UpdateFailed, Err: errBoom},
		}, map[string]float64{
			"ledger_failures_total{outcome}": 1, "ledger_failures_total{log}": 1, "ledger_failures_total{past}": 1,
			"clock_jumps_total{}": 1, "update_failed{}": 1,
		}},
		{"a mistake that was mended", []event.Event{{Kind: event.UpdateFailed, Err: errBoom}, {Kind: event.UpdateFailed}}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := metrics.New(metrics.Config{Jobs: []string{"report"}})
			before := values(t, m)
			for _, e := range tt.events {
				m.Observe(e)
			}
			want(t, before, values(t, m), tt.want)
		})
	}
}

// Rates need a series from before its first event.
func TestSeriesAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{Jobs: []string{"report"}})
	before := values(t, m)
	for _, outcome := range []ledger.Outcome{
		ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost, ledger.Cancelled, ledger.Skipped,
	} {
		for _, code := range append(ledger.Codes(), "", "of_a_later_release") {
			m.Observe(event.Event{Kind: event.Finished, Entry: ended(outcome, code)})
		}
	}
	for _, outcome := range []ledger.Outcome{ledger.Skipped, ledger.Missed} {
		for _, code := range append(ledger.Codes(), "", "of_a_later_release") {
			m.Observe(event.Event{Kind: event.Settled, Entry: ended(outcome, code)})
		}
	}
	for name := range values(t, m) {
		if _, ok := before[name]; !ok && !strings.HasPrefix(name, "job_last_success") {
			t.Errorf("%s was not there before", name)
		}
	}
}

// Jobs beyond the bound share a label; one that goes leaves its own to the next.
func TestJobLabelsAreBounded(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{Jobs: []string{"a", "b", "c", "d"}, MaxJobs: 2})
	run := func(job string) {
		e := ended(ledger.Succeeded, "")
		e.Job = job
		m.Observe(event.Event{Kind: event.Claimed, Entry: e})
		m.Observe(event.Event{Kind: event.Finished, Entry: e})
	}
	labels := func() string {
		seen := map[string]bool{}
		for name := range values(t, m) {
			if _, rest, ok := strings.Cut(name, "ticks_total{"); ok {
				job, _, _ := strings.Cut(rest, ",")
				seen[job] = true
			}
		}
		return strings.Join(slices.Sorted(maps.Keys(seen)), " ")
	}
	for _, job := range []string{"d", "a", "c", "never heard of"} {
		run(job)
	}
	got := values(t, m)
	if got["ticks_total{a,succeeded}"] != 1 || got["ticks_total{other,succeeded}"] != 3 || got["jobs{}"] != 4 {
		t.Errorf("got %v", got)
	}
	if _, ok := got["job_last_success_timestamp_seconds{other}"]; ok {
		t.Error("the jobs without a label have one last success together")
	}
	m.Observe(event.Event{Kind: event.Updated, Diff: event.Diff{
		Added: []string{"e", "f"}, Removed: []string{"a", "c"}, Renamed: []event.Rename{{From: "b", To: "z"}},
	}})
	run("a") // which was running when it was removed
	if got := labels(); got != "e other z" {
		t.Errorf("after an update there are labels %s", got)
	}
	for name := range values(t, m) {
		if strings.Contains(name, "{a") || strings.Contains(name, "{b") {
			t.Errorf("%s is still there", name)
		}
	}
	if n := values(t, m)["jobs{}"]; n != 4 {
		t.Errorf("%v jobs", n)
	}
	m = metrics.New(metrics.Config{Jobs: []string{"a", metrics.Other}, MaxJobs: -1})
	if got := labels(); got != metrics.Other {
		t.Errorf("without labels there are %s", got)
	}
}

// fixedNodes never change.
type fixedNodes []health.State

func (n fixedNodes) Quorum() int                { return len(n)/2 + 1 }
func (n fixedNodes) NodeStates() []health.State { return n }

func TestGaugesOfNodes(t *testing.T) {
	t.Parallel()
	votes := health.State{Node: "a", Up: true, Votes: true, Offset: 30 * time.Millisecond, RTT: time.Millisecond}
	abstains := health.State{Node: "b", Up: true, Offset: -time.Second, RTT: time.Millisecond}
	gone := health.State{Node: "c"}
	m := metrics.New(metrics.Config{Nodes: func() metrics.Nodes { return fixedNodes{votes, abstains, gone} }, Ready: func() bool { return true }})
	want(t, values(t, m), values(t, m), map[string]float64{
		"node_up{a}": 1, "node_up{b}": 1, "node_up{c}": 0,
		"node_voting{a}": 1, "node_voting{b}": 0, "node_voting{c}": 0,
		"node_clock_offset_seconds{a}": .03, "node_clock_offset_seconds{b}": -1,
		"quorum_margin{}": -1, "nodes{}": 3, "replica_ready{}": 1,
	})
	if _, ok := values(t, m)["node_clock_offset_seconds{c}"]; ok {
		t.Error("a node that never answered has a clock")
	}
}

func TestRepliesOfNodes(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{})
	o := m.NodesObserver()
	now := time.Now()
	for range 3 {
		o.Replied("claim", membership.Reply{Node: "a", Code: "OK", Sent: now, Received: now.Add(time.Millisecond), NodeTime: now})
	}
	o.Replied("claim", membership.Reply{Node: "b", Err: client.ErrDown, Sent: now, Received: now})
	o.Restarted("b", "", now)
	for i := range 5000 {
		o.Replied("claim", membership.Reply{Node: "c", Code: fmt.Sprint("ODD", i), NodeTime: now})
	}
	got := values(t, m)
	for name, want := range map[string]float64{
		"node_replies_total{a,ok,claim}": 3, "node_round_trip_seconds{a}": 3,
		"node_replies_total{b,down,claim}": 1, "node_round_trip_seconds{b}": 0,
		"node_restarts_total{b}": 1,
	} {
		if got[name] != want {
			t.Errorf("%s is %v, want %v", name, got[name], want)
		}
	}
	if len(got) > 2500 {
		t.Errorf("a node that answers nonsense makes %d series", len(got))
	}
}

// Names and helps follow the conventions.
func TestLint(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(full())
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// full returns Metrics in which every name is told.
func full() *metrics.Metrics {
	m := metrics.New(metrics.Config{Jobs: []string{"report"}, Ready: func() bool { return true }, Nodes: func() metrics.Nodes { return fixedNodes{{Node: "a", RTT: 1}} }})
	m.Observe(event.Event{Kind: event.Claimed, Entry: ended(ledger.Running, "")})
	m.Observe(event.Event{Kind: event.Finished, Entry: ended(ledger.Succeeded, "")})
	o := m.NodesObserver()
	o.Replied("claim", membership.Reply{Node: "a", Code: "OK"})
	o.Restarted("a", "", noon)
	return m
}

func TestHandler(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Config{Replica: "r1", Version: "1.2.3", Jobs: []string{"report"}})
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	defer server.Client().CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`quorate_build_info{goversion="go`, `replica="r1",version="1.2.3"} 1`, `quorate_ticks_total{job_name="report",outcome="missed"} 0`,
		"go_goroutines ", "# TYPE quorate_claims_total counter",
	} {
		if !strings.Contains(string(body), line) {
			t.Errorf("%q is not in\n%s", line, body)
		}
	}
}
