package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/internal/redlock/members"
)

// nodeMeters are what the nodes answer, and what is known of them.
type nodeMeters struct {
	groups func() []Group

	replies   *prometheus.CounterVec
	roundTrip *prometheus.HistogramVec
	restarts  *prometheus.CounterVec

	up, voting, offset *prometheus.Desc
	margin, listed     *prometheus.Desc
}

func newNodeMeters(groups func() []Group) nodeMeters {
	ofNode, ofCell := []string{"cell", "node"}, []string{"cell"}
	desc := func(name, help string, labels []string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
	}
	return nodeMeters{
		groups: groups,
		replies: counters("node_replies_total", "Calls of a rule at a node by its answer, of which ok is a vote where the rule asks for one; "+
			"down and unsent: it was not asked; silent: it did not answer in time; error: its server could not.", "cell", "node", "rule", "result"),
		roundTrip: histograms("node_round_trip_seconds", "How long a node took to answer a request, as the replica saw it.", quick(), ofNode...),
		restarts:  counters("node_restarts_total", "Restarts of a node that may have cost its memory, as this replica noticed: it abstains for a grace.", ofNode...),
		up:        desc("node_up", "1 while the node answers; else 0.", ofNode),
		voting:    desc("node_voting", "1 while the node answers and votes on ticks of now; 0 also while it abstains after a restart, is blank, or refuses this replica.", ofNode),
		offset:    desc("node_clock_offset_seconds", "How far the clock of the node is ahead of that of this replica, measured over the shortest of the last round trips.", ofNode),
		margin:    desc("quorum_margin", "Nodes that vote, less the quorum: at 0 one more loss means that nothing can be claimed, below 0 nothing can.", ofCell),
		listed:    desc("nodes", "Nodes that are configured.", ofCell),
	}
}

func (m *nodeMeters) collectors() []prometheus.Collector {
	list := []prometheus.Collector{m.replies, m.roundTrip, m.restarts}
	if m.groups != nil {
		list = append(list, (*standings)(m))
	}
	return list
}

// standings collects the gauges of nodes.
type standings nodeMeters

// Describe implements prometheus.Collector.
func (s *standings) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.up, s.voting, s.offset, s.margin, s.listed} {
		out <- d
	}
}

// Collect implements prometheus.Collector. It asks no node.
func (s *standings) Collect(out chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, g := range s.groups() {
		cell, list, votes := g.Cell(), g.Standings(), 0
		for _, n := range list {
			tell(s.up, flag(n.Up), cell, n.Node)
			tell(s.voting, flag(n.Votes), cell, n.Node)
			if n.RTT > 0 { // else it has never said what its clock shows
				tell(s.offset, n.Offset.Seconds(), cell, n.Node)
			}
			if n.Votes {
				votes++
			}
		}
		tell(s.margin, float64(votes-g.Quorum()), cell)
		tell(s.listed, float64(len(list)), cell)
	}
}

// NodesObserver counts what the nodes of a cell answer, empty for the only group.
func (m *Metrics) NodesObserver(cell string) members.Observer {
	c := &cellMeters{
		cell: cell, meters: &m.nodes, replies: map[reply]prometheus.Counter{}, roundTrip: map[string]prometheus.Observer{},
	}
	return members.Observer{
		Replied:   c.replied,
		Restarted: func(node string, _ time.Time) { m.nodes.restarts.WithLabelValues(cell, node).Inc() },
	}
}

// cellMeters finds the series of a reply faster than by its labels.
type cellMeters struct {
	cell   string
	meters *nodeMeters

	mu        sync.RWMutex
	replies   map[reply]prometheus.Counter
	roundTrip map[string]prometheus.Observer
}

// A reply is what a node's answer is counted by: its code, or why there is none.
type reply struct{ node, rule, said string }

// maxReplies bounds the series of a cell: a node that answers what no rule says
// must not make more.
const maxReplies = 2000

func (c *cellMeters) replied(rule string, r members.Reply) {
	key := reply{r.Node, rule, r.Code}
	if r.Err != nil {
		key.said = r.Result()
	}
	count, trip := c.of(key, r)
	count.Inc()
	if !r.NodeTime.IsZero() {
		trip.Observe(r.Received.Sub(r.Sent).Seconds())
	}
}

func (c *cellMeters) of(key reply, r members.Reply) (prometheus.Counter, prometheus.Observer) {
	c.mu.RLock()
	count, trip := c.replies[key], c.roundTrip[key.node]
	c.mu.RUnlock()
	if count != nil {
		return count, trip
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	result := r.Result()
	if len(c.replies) >= maxReplies {
		key.said, result = Other, Other
	}
	c.replies[key] = c.meters.replies.WithLabelValues(c.cell, key.node, key.rule, result)
	c.roundTrip[key.node] = c.meters.roundTrip.WithLabelValues(c.cell, key.node)
	return c.replies[key], c.roundTrip[key.node]
}
