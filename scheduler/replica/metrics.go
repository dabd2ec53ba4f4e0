package replica

import (
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/metrics"
)

// Metrics returns what the replica counts and measures: an http.Handler for
// /metrics, and a prometheus.Collector for a service that has a registry of its
// own. It is nil without http.probes_listen and http.listen, unless Options.Metrics
// asks for it.
func (r *Replica) Metrics() *metrics.Metrics { return r.metrics }

// newMetrics returns nil if nobody wants any: counting costs little, not nothing.
func newMetrics(r *Replica, cfg *Config, list []scheduler.Job, options Options) *metrics.Metrics {
	served := r.probeAddr != "" || cfg.HTTP.Listen != "" || options.Listener != nil
	if !served && !options.Metrics {
		return nil
	}
	most := cfg.Metrics.MaxJobs
	if most == 0 {
		most = -1
	}
	names := make([]string, len(list))
	for i, job := range list {
		names[i] = job.Name
	}
	return metrics.New(metrics.Config{
		Replica: r.id, Version: options.Version, Jobs: names, MaxJobs: most,
		Ready: func() bool { return len(r.notReady()) == 0 }, Groups: r.groups,
	})
}

// groups are the nodes, as metrics know them.
func (r *Replica) groups() []metrics.Group {
	list := make([]metrics.Group, len(r.cells))
	for i, c := range r.cells {
		list[i] = c.set
	}
	return list
}

func observerOf(m *metrics.Metrics) scheduler.Observer {
	if m == nil {
		return scheduler.Observer{}
	}
	return m.Observer()
}

// counting has m, if there is one, told of what the nodes of a cell do, besides o.
func counting(o nodes.Observer, cell string, m *metrics.Metrics) nodes.Observer {
	if m == nil {
		return o
	}
	counted, restarted := m.NodesObserver(cell), o.Restarted
	o.Replied = counted.Replied
	o.Restarted = func(node string, until time.Time) {
		counted.Restarted(node, until)
		restarted(node, until)
	}
	return o
}
