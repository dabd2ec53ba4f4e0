// Package metrics exports what a replica does to Prometheus. A [Metrics] observes the
// scheduler and the nodes, and is a prometheus.Collector.
//
//	m := new(metrics.Metrics)
//	… replica.Config{Metrics: m}, which serves it where it serves probes
//	prometheus.MustRegister(m) // or in a registry of your own, after replica.New
//
// A scrape calls no node. It shows what nodes last answered to claims, or to the check that
// replicas make every few seconds.
//
// Labels are bounded. At most Config.MaxJobs jobs have a label of their own, the first by
// name; the others share [Other]. Reasons are the codes of ledger.Codes. Counters start at
// zero, so that a rate shows the first miss.
package metrics

import (
	"cmp"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/event"
)

// Other is the label of jobs without a label of their own.
const Other = "other"

// A Config is what Metrics need to know; the zero value is fine.
type Config struct {
	// Replica and Version are labels of quorate_build_info.
	Replica string
	Version string
	// Jobs are the names of the jobs at the start. Events tell of later ones.
	Jobs []string
	// MaxJobs bounds the jobs with a label of their own. Default 100; negative: none.
	MaxJobs int
	// Ready reports whether the replica takes ticks. Without it there is no
	// quorate_replica_ready.
	Ready func() bool
	// Nodes is set by Begin. Without it there are no gauges of nodes.
	Nodes func() nodeSet
}

// nodeSet are the nodes of the cluster: a *membership.Set.
type nodeSet interface {
	Quorum() int
	// NodeStates returns the last known state of each node, without a call.
	NodeStates() []health.State
}

const namespace = "quorate"

// Metrics are the metrics of one replica, which calls Begin: see replica.Config. Without a
// replica use New.
type Metrics struct {
	jobs    *jobBook
	ticks   ticks
	claims  claims
	leases  leases
	nodes   nodeMeters
	process process
	all     []prometheus.Collector // of the parts above
}

// New returns Metrics at zero.
func New(cfg Config) *Metrics {
	m := new(Metrics)
	m.begin(cfg)
	return m
}

// Begin makes the metrics of a replica, which calls it once. MaxJobs is that of Config, and
// nodes returns the replica's nodes; nil if there are none.
func (m *Metrics) Begin(r view.Host, maxJobs int, nodes func() *membership.Set) {
	cfg := Config{
		Replica: r.ID, Version: r.Version, Jobs: r.Jobs, MaxJobs: maxJobs, Ready: func() bool { return len(r.NotReady()) == 0 },
	}
	if nodes != nil {
		cfg.Nodes = func() nodeSet { return nodes() }
	}
	m.begin(cfg)
}

func (m *Metrics) begin(cfg Config) {
	m.jobs = newJobBook(m, cmp.Or(cfg.MaxJobs, 100), cfg.Jobs)
	m.ticks, m.claims, m.leases = newTicks(m), newClaims(m), newLeases(m)
	m.nodes, m.process = newNodeMeters(m, cfg.Nodes), newProcess(m, cfg)
	if cfg.Nodes != nil {
		add(m, &m.nodes)
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.all {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.all {
		c.Collect(out)
	}
}

// Observe counts an event of the scheduler. It is an event.Observer.
func (m *Metrics) Observe(e event.Event) {
	m.claims.observe(e)
	m.leases.observe(e)
	m.observeTick(e)
	switch e.Kind {
	case event.Updated:
		m.updated(e.Diff)
	case event.UpdateFailed:
		m.process.updateFails.Set(flag(e.Err != nil))
	case event.ClockJumped:
		m.process.clockJumps.Inc()
	}
}

// updated follows a change of the served jobs. A renamed job keeps its place among those
// with a label.
func (m *Metrics) updated(d event.Diff) {
	m.process.jobs.Add(float64(len(d.Added) - len(d.Removed)))
	var from, to []string
	for _, r := range d.Renamed {
		from, to = append(from, r.From), append(to, r.To)
	}
	m.jobs.update(slices.Concat(to, d.Added), slices.Concat(from, d.Removed))
}

// Bounds of scrapes: how many at once, and how long one may take.
const (
	maxScrapes    = 4
	scrapeTimeout = 5 * time.Second
)

// Handler serves the metrics, with those of the Go runtime and of the process, for
// GET /metrics. A service with a registry of its own registers the Metrics there instead.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
}

// add adds series to m.
func add[C prometheus.Collector](m *Metrics, series C) C {
	m.all = append(m.all, series)
	return series
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	return add(m, prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}))
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	return add(m, prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	return add(m, prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}))
}

func (m *Metrics) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return add(m, prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels))
}

func (m *Metrics) histogram(name, help string, bounds []float64) prometheus.Histogram {
	return add(m, prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}))
}

func (m *Metrics) histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return add(m, prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, labels))
}

// quick returns the bounds of histograms of what the nodes do, in seconds.
func quick() []float64 {
	return []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}
}

// process has the metrics of the replica as a whole.
type process struct {
	jobs        prometheus.Gauge
	updateFails prometheus.Gauge
	usersFails  prometheus.Gauge
	clockJumps  prometheus.Counter
}

func newProcess(m *Metrics, cfg Config) process {
	p := process{
		jobs: m.gauge("jobs", "Jobs that this replica serves."),
		updateFails: m.gauge("update_failed",
			"1 while changed jobs could not be read, or are not valid, so that those of before go on; else 0."),
		usersFails: m.gauge("users_file_failed", "1 while a changed http.users_file cannot be used, so that the users of before go on; else 0."),
		clockJumps: m.counter("clock_jumps_total",
			"Times that wall and monotonic clock moved apart: the machine was suspended, or somebody set its clock."),
	}
	add(m, prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1: which replica, program and Go this is.",
		ConstLabels: prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version(), "replica": cfg.Replica},
	})).Set(1)
	p.jobs.Set(float64(len(cfg.Jobs)))
	if cfg.Ready != nil {
		add(m, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "replica_ready",
			Help: "1 while the replica takes ticks; 0 while it waits for nodes or their grace, or drains. /readyz says why.",
		}, func() float64 { return flag(cfg.Ready()) }))
	}
	return p
}

// UsersFailed sets whether a changed file of users cannot be used.
func (m *Metrics) UsersFailed(failed bool) { m.process.usersFails.Set(flag(failed)) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
