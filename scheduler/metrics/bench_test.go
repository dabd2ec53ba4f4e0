package metrics_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/metrics"
)

// What a short run costs to be counted: its claim and its end at five nodes
// included.
func BenchmarkRun(b *testing.B) {
	m := metrics.New(metrics.Config{Jobs: []string{"report"}})
	n := m.NodesObserver()
	begun, done := ended(ledger.Running, ""), ended(ledger.Succeeded, "")
	replies := make([]membership.Reply, 5)
	for i := range replies {
		replies[i] = membership.Reply{Node: string(rune('a' + i)), Code: "OK", Sent: noon, Received: noon.Add(time.Millisecond), NodeTime: noon}
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, rule := range []string{"commit", "finish"} {
			for _, r := range replies {
				n.Replied(rule, r)
			}
		}
		m.Observe(event.Event{Kind: event.Tried, Entry: begun, Took: time.Millisecond})
		m.Observe(event.Event{Kind: event.Claimed, Entry: begun, Took: time.Millisecond})
		m.Observe(event.Event{Kind: event.Started, Entry: begun, By: time.Millisecond})
		m.Observe(event.Event{Kind: event.Released, Entry: done, Left: time.Second, Took: time.Millisecond})
		m.Observe(event.Event{Kind: event.Finished, Entry: done})
	}
}
