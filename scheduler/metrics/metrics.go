// Package metrics counts and measures what a replica does, for Prometheus: a
// [Metrics] is an observer of the scheduler and of the nodes, and a
// prometheus.Collector.
//
//	m := new(metrics.Metrics)
//	… replica.Config{Metrics: m}, which serves it where it serves probes
//	prometheus.MustRegister(m) // or in a registry of your own, after replica.New
//
// A scrape asks no node: what it says of nodes is what they said last, to claims
// or to the look that replicas take every few seconds anyway.
//
// Labels are bounded. A job has a label of its own as long as there are no more
// than Config.MaxJobs of them, the first by name; the others share [Other]. Reasons
// are classes, of which ledger.Codes lists all. Series that rates are taken of
// are there from the start, so that the first miss is seen as a rise.
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
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/event"
)

// Other is the label of the jobs that have none of their own.
const Other = "other"

// A Config is what Metrics need to know; the zero value is fine.
type Config struct {
	// Replica and Version are labels of quorate_build_info.
	Replica string
	Version string
	// Jobs are the names of the jobs at the start; the observer gets later ones.
	Jobs []string
	// MaxJobs bounds the jobs with a label of their own. Default 100; negative: none has.
	MaxJobs int
	// Ready reports whether the replica takes ticks. Without it there is no
	// quorate_replica_ready.
	Ready func() bool
	// Nodes is set by Begin. Without it there are no gauges of nodes.
	Nodes func() nodeSet
}

// nodeSet are the nodes of the cluster: a *membership.Set.
type nodeSet interface {
	// Quorum is how many of them decide.
	Quorum() int
	// NodeStates returns what is known of each node, without calls.
	NodeStates() []membership.NodeState
}

const namespace = "quorate"

// Metrics are those of one replica, which begins them: see replica.Config. Without a
// replica make them with New.
type Metrics struct {
	jobs    *jobBook
	ticks   ticks
	claims  claims
	leases  leases
	nodes   nodeMeters
	process process
	all     []prometheus.Collector // what the parts have added
}

// New returns Metrics that have counted nothing yet.
func New(cfg Config) *Metrics {
	m := new(Metrics)
	m.begin(cfg)
	return m
}

// Begin makes the metrics of a replica, which calls it once. maxJobs is Config.MaxJobs, and
// nodes are those of the replica, nil if there are none.
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

// Observe counts what the scheduler tells. It is an event.Observer.
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

// updated follows the jobs that are served. A renamed one leaves its label to its
// new name.
func (m *Metrics) updated(d event.Diff) {
	m.process.jobs.Add(float64(len(d.Added) - len(d.Removed)))
	var from, to []string
	for _, r := range d.Renamed {
		from, to = append(from, r.From), append(to, r.To)
	}
	m.jobs.update(slices.Concat(to, d.Added), slices.Concat(from, d.Removed))
}

// Bounds of a scrape: those that come at once, and how long one may take.
const (
	maxScrapes    = 4
	scrapeTimeout = 5 * time.Second
)

// Handler serves the metrics, with those of the Go runtime and of the process,
// for GET /metrics. A service that has a registry of its own registers the Metrics
// there instead.
func (m *Metrics) Handler() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
}

// add adds the series to those of m.
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

// process is what concerns the replica as a whole.
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

// UsersFailed notes whether a changed file of users cannot be used.
func (m *Metrics) UsersFailed(failed bool) { m.process.usersFails.Set(flag(failed)) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
