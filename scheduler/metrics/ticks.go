package metrics

import (
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// ticks counts outcomes of ticks and runs, besides the counts by job.
type ticks struct {
	reasons  *prometheus.CounterVec
	delay    prometheus.Histogram
	running  prometheus.Gauge
	overdue  prometheus.Gauge
	overruns *sync.Map // runs that are counted as overdue
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
		overdue: gauge("runs_overdue", "Runs that go on though their context has ended: their functions ignore it."), overruns: new(sync.Map),
		failures: counters("ledger_failures_total", "What could not be kept or read at a try: the outcome of a tick without a run, the end of a run, "+
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

func (t ticks) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.reasons, t.delay, t.running, t.overdue, t.failures}
}

// account counts a tick that has its outcome.
func (m *Metrics) account(e ledger.Entry) {
	if c, ok := m.jobs.of(e.Job).outcomes[e.Outcome]; ok {
		c.Inc()
	}
	if code := codeOf(e); slices.Contains(code.Outcomes(), e.Outcome) {
		m.ticks.reasons.WithLabelValues(string(e.Outcome), string(code)).Inc()
	}
}

// codeOf is the code that the entry counts under.
func codeOf(e ledger.Entry) ledger.Code {
	if !slices.Contains(ledger.Codes(), e.Reason.Code) {
		return ledger.CodeOther
	}
	return e.Reason.Code
}

func (m *Metrics) observeTick(e scheduler.Event) {
	t, en := m.ticks, e.Entry
	switch e.Kind {
	case scheduler.EventClaimed:
		t.running.Inc()
	case scheduler.EventStarted:
		if en.Trigger == ledger.BySchedule {
			t.delay.Observe(e.By.Seconds())
		}
	case scheduler.EventUnused:
		t.running.Dec()
	case scheduler.EventOverdue:
		if _, twice := t.overruns.LoadOrStore(run{en.Job, en.Token}, nil); !twice {
			t.overdue.Inc()
		}
	case scheduler.EventLate:
		m.jobs.of(en.Job).late.Inc()
	case scheduler.EventRefused:
		m.jobs.of(en.Job).stale.Inc()
	case scheduler.EventFinished:
		m.finished(en, e.Err)
	case scheduler.EventSettled:
		if e.Err == nil {
			m.account(en)
		}
		t.failed(failOutcome, e.Err)
	case scheduler.EventRecorded:
		t.failed(failOutcome, e.Err)
	case scheduler.EventNotArchived:
		t.failed(failLog, e.Err)
	case scheduler.EventUnread:
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
