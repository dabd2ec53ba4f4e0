package metrics

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// claims are the tries of this replica to claim ticks.
type claims struct {
	total *prometheus.CounterVec
	took  prometheus.Histogram
}

// failed is the result of a try that ended in an error of no known kind.
const failed = "failed"

// A refusal is an error of a try to claim, and its label.
type refusal struct {
	err  error
	name string
}

func refusals() []refusal {
	return []refusal{
		{locking.ErrDone, "done"},
		{locking.ErrClaimed, "claimed"},
		{locking.ErrTaken, "taken"},
		{locking.ErrSplit, "split"},
		{locking.ErrNoQuorum, "no_quorum"},
		{locking.ErrTooSlow, "too_slow"},
		{locking.ErrSuperseded, "superseded"},
		{locking.ErrUnvouched, "unvouched"},
		{locking.ErrFuture, "clock"},
		{locking.ErrNodeAhead, "clock"},
		{locking.ErrRefused, "refused"},
		{context.Canceled, "cancelled"},
	}
}

// result is what a try to claim is counted as.
func result(err error) string {
	if err == nil {
		return "won"
	}
	for _, r := range refusals() {
		if errors.Is(err, r.err) {
			return r.name
		}
	}
	return failed
}

func newClaims() claims {
	c := claims{
		total: counters("claims_total", "Tries of this replica to claim a tick, by result: won; done or claimed, by another replica; "+
			"taken, by an earlier run; split, no_quorum, too_slow and clock, which may pass; superseded, unvouched and refused, which do not; cancelled; failed.", "result"),
		took: histogram("claim_duration_seconds", "How long the tries took that were won, from the first message to the nodes.", quick()),
	}
	for _, r := range append(refusals(), refusal{name: "won"}, refusal{name: failed}) {
		c.total.WithLabelValues(r.name)
	}
	return c
}

func (c claims) collectors() []prometheus.Collector { return []prometheus.Collector{c.total, c.took} }

func (c claims) observe(e scheduler.Event) {
	if e.Kind != scheduler.EventTried {
		return
	}
	c.total.WithLabelValues(result(e.Err)).Inc()
	if e.Err == nil {
		c.took.Observe(e.Took.Seconds())
	}
}
