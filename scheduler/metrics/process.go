package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// process is what concerns the replica as a whole.
type process struct {
	info        prometheus.Gauge
	jobs        prometheus.Gauge
	ready       prometheus.Collector // nil: not known
	updateFails prometheus.Gauge
	usersFails  prometheus.Gauge
	clockJumps  prometheus.Counter
}

func newProcess(cfg Config) process {
	p := process{
		info: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: namespace, Name: "build_info", Help: "Always 1: which replica, program and Go this is.",
			ConstLabels: prometheus.Labels{"version": cfg.Version, "goversion": runtime.Version(), "replica": cfg.Replica},
		}),
		jobs: gauge("jobs", "Jobs that this replica serves."),
		updateFails: gauge("update_failed",
			"1 while changed jobs could not be read, or are not valid, so that those of before go on; else 0."),
		usersFails: gauge("users_file_failed", "1 while a changed http.users_file cannot be used, so that the users of before go on; else 0."),
		clockJumps: counter("clock_jumps_total",
			"Times that wall and monotonic clock moved apart: the machine was suspended, or somebody set its clock."),
	}
	p.info.Set(1)
	if cfg.Ready != nil {
		p.ready = prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "replica_ready",
			Help: "1 while the replica takes ticks; 0 while it waits for nodes or their grace, or drains. /readyz says why.",
		}, func() float64 { return flag(cfg.Ready()) })
	}
	return p
}

func (p process) collectors() []prometheus.Collector {
	list := []prometheus.Collector{p.info, p.jobs, p.updateFails, p.usersFails, p.clockJumps}
	if p.ready != nil {
		list = append(list, p.ready)
	}
	return list
}

// UsersFailed notes whether a changed file of users cannot be used.
func (m *Metrics) UsersFailed(failed bool) { m.process.usersFails.Set(flag(failed)) }

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
