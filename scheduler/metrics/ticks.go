package metrics

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ticks has the metrics of ticks and runs that are not by job.
type ticks struct {
	reasons  *prometheus.CounterVec
	delay    prometheus.Histogram
	running  prometheus.Gauge
	overdue  prometheus.Gauge
	overruns *sync.Map // the runs counted in overdue
	failures *prometheus.CounterVec
}

// Labels of failures of the ledger, see newTicks.
const (
	failOutcome = "outcome"
	failEnd     = "end"
	failLog     = "log"
	failPast    = "past"
)

func newTicks(m *Metrics) ticks {
	t := ticks{
		reasons: m.counters("tick_reasons_total", "Ticks that did not run, and runs that were ended early, by outcome and code of the reason; "+
			"each is counted once in the cluster.", "outcome", "reason"),
		delay: m.histogram("start_delay_seconds", "How long after its time, jitter taken off, the function of a scheduled tick was called.",
			[]float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60}),
		running: m.gauge("runs_in_progress", "Runs that go on now on this replica."),
		overdue: m.gauge("runs_overdue", "Runs that go on though their context has ended: their functions ignore it."), overruns: new(sync.Map),
		failures: m.counters("ledger_failures_total", "What could not be kept or read at a try: the outcome of a tick without a run, the end of a run, "+
			"the log of a run, the past ticks of a job.", "what"),
	}
	for _, what := range []string{failOutcome, failEnd, failLog, failPast} {
		t.failures.WithLabelValues(what)
	}
	for _, c := range ledger.Codes() {
		for _, o := range c.Outcomes() {
			t.reasons.WithLabelValues(string(o), string(c))
		}
	}
	return t
}

// account counts a tick with its outcome.
func (m *Metrics) account(e ledger.Entry) {
	if c, ok := m.jobs.of(e.Job).outcomes[e.Outcome]; ok {
		c.Inc()
	}
	code := e.Reason.Code
	if !slices.Contains(ledger.Codes(), code) {
		code = ledger.CodeOther
	}
	if slices.Contains(code.Outcomes(), e.Outcome) {
		m.ticks.reasons.WithLabelValues(string(e.Outcome), string(code)).Inc()
	}
}

func (m *Metrics) observeTick(e event.Event) {
	t, en := m.ticks, e.Entry
	switch e.Kind {
	case event.Claimed:
		t.running.Inc()
	case event.Started:
		if en.Trigger == ledger.BySchedule {
			t.delay.Observe(e.By.Seconds())
		}
	case event.Unused:
		t.running.Dec()
	case event.Overdue:
		if _, twice := t.overruns.LoadOrStore(run{en.Job, en.Token}, nil); !twice {
			t.overdue.Inc()
		}
	case event.Late:
		m.jobs.of(en.Job).late.Inc()
	case event.Refused:
		m.jobs.of(en.Job).stale.Inc()
	case event.Finished:
		m.finished(en, e.Err)
	case event.Settled:
		if e.Err == nil {
			m.account(en)
		}
		t.failed(failOutcome, e.Err)
	case event.Recorded:
		t.failed(failOutcome, e.Err)
	case event.NotArchived:
		t.failed(failLog, e.Err)
	case event.Unread:
		t.failed(failPast, e.Err)
	}
}

func (m *Metrics) finished(e ledger.Entry, released error) {
	m.ticks.running.Dec()
	if _, was := m.ticks.overruns.LoadAndDelete(run{e.Job, e.Token}); was {
		m.ticks.overdue.Dec()
	}
	m.ticks.failed(failEnd, released)
	if !e.HandedOver() { // its tick is counted by the attempt that ends it
		m.account(e)
	}
	j := m.jobs.of(e.Job)
	j.took.Observe(e.Finished.Sub(e.Started).Seconds())
	if e.Outcome == ledger.Succeeded {
		j.lastSuccess(float64(e.Finished.UnixMilli()) / 1000)
	}
}

func (t ticks) failed(what string, err error) {
	if err != nil {
		t.failures.WithLabelValues(what).Inc()
	}
}

// run names a run of this replica.
type run struct {
	job   string
	token locking.Token
}

// byJob is the label for the name of a job. Prometheus has its own label job, for the name
// of what it scrapes.
const byJob = "job_name"

// A jobBook has the metrics by job.
type jobBook struct {
	max int

	ticks       *prometheus.CounterVec
	took        *prometheus.HistogramVec
	lastSuccess *prometheus.GaugeVec
	late        *prometheus.CounterVec
	stale       *prometheus.CounterVec

	mu    sync.RWMutex
	own   map[string]*jobMeters // by job, at most max
	other *jobMeters            // of all other jobs
}

// jobMeters are the series of one label.
type jobMeters struct {
	outcomes    map[ledger.Outcome]prometheus.Counter
	took        prometheus.Observer
	lastSuccess func(seconds float64)
	late, stale prometheus.Counter
}

// outcomes are the outcomes of events.
func outcomes() []ledger.Outcome {
	return []ledger.Outcome{
		ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost,
		ledger.Cancelled, ledger.Skipped, ledger.Missed,
	}
}

func newJobBook(m *Metrics, limit int, jobs []string) *jobBook {
	b := &jobBook{
		max: limit, own: map[string]*jobMeters{},
		ticks: m.counters("ticks_total", "Ticks by what became of them, each counted by one replica: the one that ran it, "+
			"or whose record the ledger keeps of a tick that nobody ran. A run whose replica died is counted by nobody.", byJob, "outcome"),
		took: m.histograms("run_duration_seconds", "How long runs took, all tries included.",
			[]float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 14400}, byJob),
		lastSuccess: m.gauges("job_last_success_timestamp_seconds", "When a run of the job last succeeded on this replica since it started, "+
			"in seconds since 1970; none before that, and none for those counted as other.", byJob),
		late:  m.counters("runs_late_total", "Runs that started later than late_after of their job allows.", byJob),
		stale: m.counters("stale_writes_refused_total", "Writes of runs that a guard refused, since a newer run had written.", byJob),
	}
	b.other = b.meters(Other)
	b.other.lastSuccess = func(float64) {} // it would be of many jobs
	b.update(jobs, nil)
	return b
}

// meters makes the series of a label. Counters start at zero.
func (b *jobBook) meters(label string) *jobMeters {
	j := &jobMeters{
		outcomes: map[ledger.Outcome]prometheus.Counter{}, took: b.took.WithLabelValues(label),
		lastSuccess: func(seconds float64) { b.lastSuccess.WithLabelValues(label).Set(seconds) },
		late:        b.late.WithLabelValues(label), stale: b.stale.WithLabelValues(label),
	}
	for _, o := range outcomes() {
		j.outcomes[o] = b.ticks.WithLabelValues(label, string(o))
	}
	return j
}

// of returns the series of a job.
func (b *jobBook) of(job string) *jobMeters {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if j, ok := b.own[job]; ok {
		return j
	}
	return b.other
}

// update removes the series of removed jobs. Added jobs get a label while there are fewer
// than max.
func (b *jobBook) update(added, removed []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, job := range removed {
		if _, ok := b.own[job]; ok {
			delete(b.own, job)
			b.drop(prometheus.Labels{byJob: job})
		}
	}
	for _, job := range added {
		if len(b.own) >= b.max {
			return
		}
		if job != Other {
			b.own[job] = b.meters(job)
		}
	}
}

func (b *jobBook) drop(labels prometheus.Labels) {
	b.ticks.DeletePartialMatch(labels)
	b.took.DeletePartialMatch(labels)
	b.lastSuccess.DeletePartialMatch(labels)
	b.late.DeletePartialMatch(labels)
	b.stale.DeletePartialMatch(labels)
}

// claims has the metrics of this replica's tries to claim ticks.
type claims struct {
	total *prometheus.CounterVec
	took  prometheus.Histogram
}

// failed is the label of a try with an unknown error.
const failed = "failed"

// A refusal is an error of a try to claim, with its label.
type refusal struct {
	err  error
	name string
}

func refusals() []refusal {
	return []refusal{
		{locking.ErrDone, "done"},
		{locking.ErrClaimed, "claimed"},
		{locking.ErrTaken, "taken"},
		{locking.ErrSplit, "split"},
		{locking.ErrNoQuorum, "no_quorum"},
		{locking.ErrTooSlow, "too_slow"},
		{locking.ErrSuperseded, "superseded"},
		{locking.ErrUnvouched, "unvouched"},
		{locking.ErrFuture, "clock"},
		{locking.ErrNodeAhead, "clock"},
		{locking.ErrRefused, "refused"},
		{context.Canceled, "cancelled"},
	}
}

// result is the label of a try to claim.
func result(err error) string {
	if err == nil {
		return "won"
	}
	for _, r := range refusals() {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return failed
}

func newClaims(m *Metrics) claims {
	c := claims{
		total: m.counters("claims_total", "Tries of this replica to claim a tick, by result: won; done or claimed, by another replica; "+
			"taken, by an earlier run; split, no_quorum, too_slow and clock, which may pass; superseded, unvouched and refused, which do not; cancelled; failed.", "result"),
		took: m.histogram("claim_duration_seconds", "How long the tries took that were won, from the first message to the nodes.", quick()),
	}
	for _, r := range append(refusals(), refusal{name: "won"}, refusal{name: failed}) {
		c.total.WithLabelValues(r.name)
	}
	return c
}

func (c claims) observe(e event.Event) {
	if e.Kind != event.Tried {
		return
	}
	c.total.WithLabelValues(result(e.Err)).Inc()
	if e.Err == nil {
		c.took.Observe(e.Took.Seconds())
	}
}
