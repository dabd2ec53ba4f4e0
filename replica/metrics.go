package replica

import (
	"time"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler"
)

// beginMetrics begins what counts, if anything does.
func (r *Replica) beginMetrics(cfg *config.Config, list []scheduler.Job, m Metrics) {
	if m == nil {
		return
	}
	most := cfg.Metrics.MaxJobs
	if most == 0 {
		most = -1
	}
	about := r.Shown()
	for _, job := range list {
		about.Jobs = append(about.Jobs, job.Name)
	}
	var nodes func() *membership.Set
	if cfg.Section() == config.SectionRedis {
		nodes = func() *membership.Set { return r.backend.members() }
	}
	m.Begin(about, most, nodes)
	r.metrics = m
}

// counting adds m, if any, to the observer o of the nodes.
func counting(o membership.Observer, m Metrics) membership.Observer {
	if m == nil {
		return o
	}
	counted, restarted := m.NodesObserver(), o.Restarted
	o.Replied = counted.Replied
	o.Restarted = func(node, why string, until time.Time) {
		counted.Restarted(node, why, until)
		restarted(node, why, until)
	}
	return o
}
