package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/scheduler/ledger"
)

// byJob is the label that names a job. Prometheus has a label job of its own, which
// names what it scrapes.
const byJob = "job_name"

// A jobBook has the jobs with their own label, and their counts.
type jobBook struct {
	max int

	ticks       *prometheus.CounterVec
	took        *prometheus.HistogramVec
	lastSuccess *prometheus.GaugeVec
	late        *prometheus.CounterVec
	stale       *prometheus.CounterVec

	mu    sync.RWMutex
	own   map[string]*jobMeters
	other *jobMeters
}

// jobMeters are the series of one label.
type jobMeters struct {
	outcomes    map[ledger.Outcome]prometheus.Counter
	took        prometheus.Observer
	lastSuccess func(seconds float64)
	late, stale prometheus.Counter
}

// outcomes are those that events can have.
func outcomes() []ledger.Outcome {
	return []ledger.Outcome{
		ledger.Succeeded, ledger.Failed, ledger.TimedOut, ledger.LeaseLost,
		ledger.Cancelled, ledger.Skipped, ledger.Missed,
	}
}

func newJobBook(limit int, jobs []string) *jobBook {
	b := &jobBook{
		max: limit, own: map[string]*jobMeters{},
		ticks: counters("ticks_total", "Ticks by what became of them, each counted by one replica: the one that ran it, "+
			"or whose record the ledger keeps of a tick that nobody ran. A run whose replica died is counted by nobody.", byJob, "outcome"),
		took: histograms("run_duration_seconds", "How long runs took, all tries included.", work(), byJob),
		lastSuccess: gauges("job_last_success_timestamp_seconds", "When a run of the job last succeeded on this replica since it started, "+
			"in seconds since 1970; none before that, and none for those counted as other.", byJob),
		late:  counters("runs_late_total", "Runs that started later than late_after of their job allows.", byJob),
		stale: counters("stale_writes_refused_total", "Writes of runs that a guard refused, since a newer run had written.", byJob),
	}
	b.other = b.meters(Other)
	b.other.lastSuccess = func(float64) {} // of which job?
	b.update(jobs, nil)
	return b
}

func (b *jobBook) collectors() []prometheus.Collector {
	return []prometheus.Collector{b.ticks, b.took, b.lastSuccess, b.late, b.stale}
}

// meters makes the series of a label, at zero where they count.
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

// of returns the series in which the job is counted.
func (b *jobBook) of(job string) *jobMeters {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if j, ok := b.own[job]; ok {
		return j
	}
	return b.other
}

// update takes the labels of removed jobs away, with their series, and gives them
// to added ones, as far as they go.
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
