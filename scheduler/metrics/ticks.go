package metrics

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler"
)

// ticks are what became of ticks and runs, besides what is counted by job.
type ticks struct {
	reasons  *prometheus.CounterVec
	delay    prometheus.Histogram
	running  prometheus.Gauge
	overdue  *overdue
	failures *prometheus.CounterVec
}

// What of the ledger's can fail, see newTicks.
const (
	failOutcome = "outcome"
	failEnd     = "end"
	failLog     = "log"
	failPast    = "past"
)

func newTicks() ticks {
	t := ticks{
		reasons: counters("tick_reasons_total", "Ticks that did not run, and runs that were ended early, by outcome and code of the reason; "+
			"each is counted once in the cluster.", "outcome", "reason"),
		delay:   histogram("start_delay_seconds", "How long after its time, jitter taken off, the function of a scheduled tick was called.", behind()),
		running: gauge("runs_in_progress", "Runs that go on now on this replica."),
		overdue: &overdue{gauge: gauge("runs_overdue", "Runs that go on though their context has ended: their functions ignore it."), runs: map[run]bool{}},
		failures: counters("ledger_failures_total", "What could not be kept or read at a try: the outcome of a tick without a run, the end of a run, "+
			"the log of a run, the past ticks of a job.", "what"),
	}
	for _, what := range []string{failOutcome, failEnd, failLog, failPast} {
		t.failures.WithLabelValues(what)
	}
	for _, c := range scheduler.Codes() {
		for _, o := range c.Outcomes() {
			t.reasons.WithLabelValues(string(o), string(c))
		}
	}
	return t
}

func (t ticks) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.reasons, t.delay, t.running, t.overdue.gauge, t.failures}
}

// account counts a tick that has its outcome.
func (m *Metrics) account(e scheduler.Entry) {
	if c, ok := m.jobs.of(e.Job).outcomes[e.Outcome]; ok {
		c.Inc()
	}
	if code := codeOf(e); slices.Contains(code.Outcomes(), e.Outcome) {
		m.ticks.reasons.WithLabelValues(string(e.Outcome), string(code)).Inc()
	}
}

// codeOf is the code that the entry counts under.
func codeOf(e scheduler.Entry) scheduler.Code {
	if !slices.Contains(scheduler.Codes(), e.Reason.Code) {
		return scheduler.CodeOther
	}
	return e.Reason.Code
}

func (m *Metrics) observeTicks(o *scheduler.Observer) {
	t := m.ticks
	o.Claimed = func(string, locking.Claim, time.Duration) { t.running.Inc() }
	o.Started = func(e scheduler.Entry, behind time.Duration) {
		if e.Trigger == scheduler.BySchedule {
			t.delay.Observe(behind.Seconds())
		}
	}
	o.Unused = func(string, locking.Claim) { t.running.Dec() }
	o.Overdue = func(job string, c locking.Claim, _ time.Time) { t.overdue.add(run{job, c.Token}) }
	o.Late = func(e scheduler.Entry, _ time.Duration) { m.jobs.of(e.Job).late.Inc() }
	o.Refused = func(job string, _ locking.Claim, _ fence.StaleError) { m.jobs.of(job).stale.Inc() }
	o.Finished = m.finished
	o.Settled = m.account
	o.Recorded = func(_ scheduler.Entry, err error) { t.failed(failOutcome, err) }
	o.NotArchived = func(_ string, _ time.Time, err error) { t.failed(failLog, err) }
	o.Unread = func(_ string, err error) { t.failed(failPast, err) }
}

func (m *Metrics) finished(e scheduler.Entry, released error) {
	m.ticks.running.Dec()
	m.ticks.overdue.remove(run{e.Job, e.Token})
	m.ticks.failed(failEnd, released)
	if !e.HandedOver() { // its tick is counted by the attempt that ends it
		m.account(e)
	}
	j := m.jobs.of(e.Job)
	j.took.Observe(e.Finished.Sub(e.Started).Seconds())
	if e.Outcome == scheduler.Succeeded {
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

// overdue are the runs whose functions ignore their ended contexts.
type overdue struct {
	gauge prometheus.Gauge

	mu   sync.Mutex
	runs map[run]bool
}

func (o *overdue) add(r run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.runs[r] = true
	o.gauge.Set(float64(len(o.runs)))
}

func (o *overdue) remove(r run) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.runs, r)
	o.gauge.Set(float64(len(o.runs)))
}
