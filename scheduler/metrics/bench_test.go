package metrics_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/metrics"
)

// What a short run costs to be counted: its claim and its end at five nodes
// included.
func BenchmarkRun(b *testing.B) {
	m := metrics.New(metrics.Config{Jobs: []string{"report"}})
	o, n := m.Observer(), m.NodesObserver("")
	begun, done := ended(scheduler.Running, ""), ended(scheduler.Succeeded, "")
	replies := make([]nodes.Reply, 5)
	for i := range replies {
		replies[i] = nodes.Reply{Node: string(rune('a' + i)), Code: "OK", Sent: noon, Received: noon.Add(time.Millisecond), NodeTime: noon}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, rule := range []string{"commit", "finish"} {
			for _, r := range replies {
				n.Replied(rule, r)
			}
		}
		o.Tried("report", noon, time.Millisecond, nil)
		o.Claimed("report", claim, time.Millisecond)
		o.Started(begun, time.Millisecond)
		o.Released("report", claim, time.Second, time.Millisecond, nil)
		o.Finished(done, nil)
	}
}
