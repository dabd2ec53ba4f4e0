package metrics

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/event"
)

// nodeMeters count the nodes' answers. As a collector they are the gauges of the nodes'
// states.
type nodeMeters struct {
	nodes func() nodeSet

	replies   *prometheus.CounterVec
	roundTrip *prometheus.HistogramVec
	restarts  *prometheus.CounterVec

	up, voting, offset *prometheus.Desc
	margin, listed     *prometheus.Desc
}

func newNodeMeters(m *Metrics, nodes func() nodeSet) nodeMeters {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return nodeMeters{
		nodes: nodes,
		replies: m.counters("node_replies_total", "Calls of a rule at a node by its answer, of which ok is a vote where the rule asks for one; "+
			"down and unsent: it was not asked; silent: it did not answer in time; error: its server could not.", "node", "rule", "result"),
		roundTrip: m.histograms("node_round_trip_seconds", "How long a node took to answer a request, as the replica saw it.", quick(), "node"),
		restarts:  m.counters("node_restarts_total", "Restarts of a node that may have cost its memory, as this replica noticed: it abstains for a grace.", "node"),
		up:        desc("node_up", "1 while the node answers; else 0.", "node"),
		voting:    desc("node_voting", "1 while the node answers and votes on ticks of now; 0 also while it abstains after a restart, is blank, takes no writes, or refuses this replica.", "node"),
		offset:    desc("node_clock_offset_seconds", "How far the clock of the node is ahead of that of this replica, measured over the shortest of the last round trips.", "node"),
		margin:    desc("quorum_margin", "Nodes that vote, less the quorum: at 0 one more loss means that nothing can be claimed, below 0 nothing can."),
		listed:    desc("nodes", "Nodes that are configured."),
	}
}

// Describe implements prometheus.Collector.
func (s *nodeMeters) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.up, s.voting, s.offset, s.margin, s.listed} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It calls no node.
func (s *nodeMeters) Collect(out chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	nodes := s.nodes()
	list, votes := nodes.NodeStates(), 0
	for _, n := range list {
		set(s.up, flag(n.Up), n.Node)
		set(s.voting, flag(n.Votes), n.Node)
		if n.RTT > 0 { // else its clock is unknown
			set(s.offset, n.Offset.Seconds(), n.Node)
		}
		if n.Votes {
			votes++
		}
	}
	set(s.margin, float64(votes-nodes.Quorum()))
	set(s.listed, float64(len(list)))
}

// NodesObserver counts what the nodes answer.
func (m *Metrics) NodesObserver() membership.Observer {
	known := &answers{seen: map[[3]string]bool{}}
	return membership.Observer{
		Replied: func(rule string, r membership.Reply) {
			m.nodes.replies.WithLabelValues(r.Node, rule, known.result(rule, r)).Inc()
			trip := m.nodes.roundTrip.WithLabelValues(r.Node)
			if !r.NodeTime.IsZero() {
				trip.Observe(r.Received.Sub(r.Sent).Seconds())
			}
		},
		Restarted: func(node, _ string, _ time.Time) { m.nodes.restarts.WithLabelValues(node).Inc() },
	}
}

// answers are the answers with a series of their own.
type answers struct {
	mu   sync.Mutex
	seen map[[3]string]bool // by node, rule and result
}

// maxAnswers bounds the series. A node with unknown answers must not create more.
const maxAnswers = 2000

// result is the label of a reply.
func (a *answers) result(rule string, r membership.Reply) string {
	result := r.Result()
	series := [3]string{r.Node, rule, result}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.seen) < maxAnswers {
		a.seen[series] = true
	}
	if !a.seen[series] {
		return Other
	}
	return result
}

// leases has the metrics of the leases of runs.
type leases struct {
	total *prometheus.CounterVec
	took  prometheus.Histogram
	left  *prometheus.HistogramVec
	lost  prometheus.Counter
	freed prometheus.Histogram
}

func newLeases(m *Metrics) leases {
	l := leases{
		total: m.counters("lease_extensions_total", "Tries to extend the lease of a run: extended; failed, where the next may succeed; lost for good.", "result"),
		took:  m.histogram("lease_extension_duration_seconds", "How long it took to extend a lease, well or not.", quick()),
		left: m.histograms("lease_validity_left_seconds", "How much longer a lease would have lasted when an extension of it began, or when its run had finished. "+
			"What comes near lock.safety_margin is nearly lost.", []float64{0, .5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 30, 60}, "at"),
		lost:  m.counter("leases_lost_total", "Runs that were told to stop since their lease could not be kept."),
		freed: m.histogram("release_duration_seconds", "How long it took to give a lease back, and to record the end of its run.", quick()),
	}
	for _, result := range []string{"extended", failed, "lost"} {
		l.total.WithLabelValues(result)
	}
	for _, at := range []string{"extension", "finish"} {
		l.left.WithLabelValues(at)
	}
	return l
}

func (l leases) observe(e event.Event) {
	switch e.Kind {
	case event.Extended:
		l.total.WithLabelValues(extension(e.Err)).Inc()
		l.took.Observe(e.Took.Seconds())
		l.left.WithLabelValues("extension").Observe(e.Left.Seconds())
	case event.LeaseLost:
		l.lost.Inc()
	case event.Released:
		l.left.WithLabelValues("finish").Observe(e.Left.Seconds())
		l.freed.Observe(e.Took.Seconds())
	}
}

// extension is the label of a try to extend a lease.
func extension(err error) string {
	switch {
	case err == nil:
		return "extended"
	case errors.Is(err, locking.ErrLeaseLost):
		return "lost"
	}
	return failed
}
