package metrics

import "github.com/prometheus/client_golang/prometheus"

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, bounds []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds})
}

func histograms(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: bounds}, labels)
}

// Bounds of histograms, in seconds: of what the nodes do, of what the scheduler
// does, of what functions do, and of leases.
func quick() []float64 {
	return []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5}
}

func behind() []float64 {
	return []float64{.005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60}
}

func work() []float64 {
	return []float64{.01, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 14400}
}

func validity() []float64 {
	return []float64{0, .5, 1, 2, 3, 5, 7.5, 10, 12.5, 15, 20, 30, 60}
}
