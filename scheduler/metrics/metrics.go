package metrics

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

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
	all     []prometheus.Collector
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
	m.jobs, m.ticks, m.claims, m.leases = newJobBook(cmp.Or(cfg.MaxJobs, 100), cfg.Jobs), newTicks(), newClaims(), newLeases()
	m.nodes, m.process = newNodeMeters(cfg.Nodes), newProcess(cfg)
	m.process.jobs.Set(float64(len(cfg.Jobs)))
	for _, part := range []interface{ collectors() []prometheus.Collector }{
		m.jobs, m.ticks, m.claims, m.leases, &m.nodes, m.process,
	} {
		m.all = append(m.all, part.collectors()...)
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

// Observe counts what the scheduler tells. It is a scheduler.Observer.
func (m *Metrics) Observe(e scheduler.Event) {
	m.claims.observe(e)
	m.leases.observe(e)
	m.observeTick(e)
	switch e.Kind {
	case scheduler.EventUpdated:
		m.updated(e.Diff)
	case scheduler.EventUpdateFailed:
		m.process.updateFails.Set(flag(e.Err != nil))
	case scheduler.EventClockJumped:
		m.process.clockJumps.Inc()
	}
}

// updated follows the jobs that are served. A renamed one leaves its label to its
// new name.
func (m *Metrics) updated(d scheduler.Diff) {
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
