package metrics

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// leases are how the leases of runs are kept.
type leases struct {
	total *prometheus.CounterVec
	took  prometheus.Histogram
	left  *prometheus.HistogramVec
	lost  prometheus.Counter
	freed prometheus.Histogram
}

func newLeases() leases {
	l := leases{
		total: counters("lease_extensions_total", "Tries to extend the lease of a run: extended; failed, where the next may succeed; lost for good.", "result"),
		took:  histogram("lease_extension_duration_seconds", "How long it took to extend a lease, well or not.", quick()),
		left: histograms("lease_validity_left_seconds", "How much longer a lease would have lasted when an extension of it began, or when its run had finished. "+
			"What comes near lock.safety_margin is nearly lost.", validity(), "at"),
		lost:  counter("leases_lost_total", "Runs that were told to stop since their lease could not be kept."),
		freed: histogram("release_duration_seconds", "How long it took to give a lease back, and to record the end of its run.", quick()),
	}
	for _, result := range []string{"extended", failed, "lost"} {
		l.total.WithLabelValues(result)
	}
	for _, at := range []string{"extension", "finish"} {
		l.left.WithLabelValues(at)
	}
	return l
}

func (l leases) collectors() []prometheus.Collector {
	return []prometheus.Collector{l.total, l.took, l.left, l.lost, l.freed}
}

func (l leases) observe(e scheduler.Event) {
	switch e.Kind {
	case scheduler.EventExtended:
		l.total.WithLabelValues(extension(e.Err)).Inc()
		l.took.Observe(e.Took.Seconds())
		l.left.WithLabelValues("extension").Observe(e.Left.Seconds())
	case scheduler.EventLeaseLost:
		l.lost.Inc()
	case scheduler.EventReleased:
		l.left.WithLabelValues("finish").Observe(e.Left.Seconds())
		l.freed.Observe(e.Took.Seconds())
	}
}

// extension is what a try to extend a lease is counted as.
func extension(err error) string {
	switch {
	case err == nil:
		return "extended"
	case errors.Is(err, locking.ErrLeaseLost):
		return "lost"
	}
	return failed
}
