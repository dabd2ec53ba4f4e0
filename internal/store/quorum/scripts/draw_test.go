package scripts_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/dev/testkit/nodetest/difftest"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
)

func TestMain(m *testing.M) {
	difftest.Sample()
	m.Run()
}

// newSet returns nodes to name keys for; none of them is there.
func newSet(tb testing.TB) *membership.Set {
	tb.Helper()
	set, err := membership.Open(membership.Config{Namespace: "q", Nodes: []membership.NodeConfig{{URL: "redis://a:6379"}}})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = set.Close() })
	return set
}

// A differ draws requests, mostly about what is stored, and near the bounds of what is
// accepted.
type differ struct {
	*difftest.Bench
	set   *membership.Set
	tries []try
	ended map[string]bool
}

// A try has one token and one attempt number: that of the claim it may ask for.
type try struct {
	job string
	scripts.Claim
}

// mostTries is how many tries take turns.
const mostTries = 5

func (d *differ) keys(x try) []string {
	return scripts.Keys(d.set, x.job, x.Stream, time.UnixMilli(x.Tick), x.Overlaps, x.Owner)
}

// finished is the record of the run; a plain lock has none.
func (x try) finished() string {
	if x.Tick == 0 {
		return ""
	}
	outcomes := []string{"", `{"outcome":"succeeded"}`, `{"outcome":"timed_out"}`, `{"outcome":"skipped"}`}
	return x.Stream + "|" + x.Owner + outcomes[integer(x.Owner[1:])%int64(len(outcomes))]
}

// job is what the model stores of a job.
func (d *differ) job(name string) protocol.State { return d.Model().Jobs[d.prefix(name)] }

func (d *differ) prefix(job string) string { return d.set.JobKey(job, "") }

// change changes a job on all sides.
func (d *differ) change(rt *rapid.T, job string, f func(*protocol.State), command ...any) {
	key := d.prefix(job)
	d.Do(rt, func(n *nodetest.Node) {
		s, ok := n.Jobs[key]
		s.TickLocks = maps.Clone(s.TickLocks)
		if f(&s); ok || s.Lock.Owner != "" {
			n.Jobs[key] = s
		}
	}, command...)
}

// try returns one of the latest tries, or a new one.
func (d *differ) try(rt *rapid.T) try {
	i := rapid.IntRange(0, mostTries).Draw(rt, "try")
	if i >= len(d.tries) {
		return d.newTry(rt, rapid.Bool().Draw(rt, "likely"))
	}
	return d.tries[i]
}

// held is mostly a try that has something of a job.
func (d *differ) held(rt *rapid.T) try {
	var all []try
	for _, x := range d.tries {
		s := d.job(x.job)
		lock := s.Lock
		if x.Overlaps {
			lock = s.TickLocks[protocol.TickKey{Stream: x.Stream, Tick: x.Tick}]
		}
		if lock.Owner == x.Owner || s.Streams[x.Stream].Owner == x.Owner {
			all = append(all, x)
		}
	}
	if len(all) == 0 || rapid.IntRange(0, 3).Draw(rt, "another") == 0 {
		return d.try(rt)
	}
	return rapid.SampledFrom(all).Draw(rt, "held")
}

// either draws as held or as try does.
func (d *differ) either(rt *rapid.T) try {
	if rapid.Bool().Draw(rt, "held") {
		return d.held(rt)
	}
	return d.try(rt)
}

// newTry draws a try. A likely one has numbers that the node accepts.
func (d *differ) newTry(rt *rapid.T, likely bool) try {
	x := try{job: rapid.SampledFrom([]string{"j", "j", "j", "k"}).Draw(rt, "job")}
	x.Stream = rapid.SampledFrom([]string{"schedule", "schedule", "manual", "lock"}).Draw(rt, "stream")
	x.Owner = "v" + strconv.Itoa(d.number())
	x.Holder, x.Note = "holder of "+x.Owner, "{}"
	x.Mode = rapid.SampledFrom([]locking.Mode{locking.AtMostOnce, locking.AtLeastOnce}).Draw(rt, "mode")
	s := d.job(x.job)
	before := s.Streams[x.Stream]
	if x.Stream != "lock" {
		x.Overlaps = rapid.IntRange(0, 2).Draw(rt, "overlaps") == 0
		if before.Owner != "" && rapid.Bool().Draw(rt, "alike") {
			if x.Overlaps, x.Mode = before.Overlaps, locking.AtMostOnce; before.Mode {
				x.Mode = locking.AtLeastOnce
			}
		}
		x.Tick = d.tick(rt, before, likely)
	}
	x.Token, x.Attempt = d.token(rt, s, likely), d.attempt(rt, before, x.Tick, likely)
	if len(d.tries) == mostTries {
		d.tries = slices.Delete(d.tries, 0, 1)
	}
	d.tries = append(d.tries, x)
	return x
}

// number counts the tries.
func (d *differ) number() int {
	if len(d.tries) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimPrefix(d.tries[len(d.tries)-1].Owner, "v"))
	return n + 1
}

// tick draws that of the claim or one beside it, or one at the end of what the node has a
// say in.
func (d *differ) tick(rt *rapid.T, before protocol.Claim, likely bool) int64 {
	now, grace := d.Now().UnixMilli(), difftest.Grace.Milliseconds()
	if likely {
		return max(before.Tick, now) + rapid.SampledFrom([]int64{0, 0, 1000}).Draw(rt, "later")
	}
	list := []int64{1_800_000_000_000, 1_800_000_001_000, now - 1000, now, now + grace/2, now + grace/2 + 1}
	if stored := before.Tick; stored > 0 {
		list = append(list, stored, stored, stored, stored, stored+1, stored-1)
	}
	if m := d.Model().Member; m != nil {
		floor := integer(m.Since) + grace
		list = append(list, floor, floor+1)
		if gc := integer(m.GCTick); gc > 0 {
			list = append(list, gc, gc+1)
		}
	}
	return rapid.SampledFrom(list).Draw(rt, "tick")
}

// token draws one near the fences, one of now, or the largest that is accepted.
func (d *differ) token(rt *rapid.T, s protocol.State, likely bool) uint64 {
	now, grace := d.Now().UnixMilli(), difftest.Grace.Milliseconds()
	if likely {
		return max(s.Fence+1, uint64(now/1000)<<20)
	}
	reach := now + grace/2
	largest := uint64(reach/1000)<<20 + uint64(reach%1000)<<20/1000
	list := []uint64{uint64(now/1000) << 20, uint64(now/1000)<<20 + 1, 5, largest, largest + 1, 1<<53 - 1, 1 << 53}
	if fence := s.Fence; fence > 0 {
		list = append(list, fence-1, fence, fence+1, fence+1, fence+1, fence+2)
	}
	if m := d.Model().Member; m != nil {
		floor := uint64(integer(m.Since)+grace+999) / 1000 << 20
		list = append(list, floor, floor+1)
		if gc := uint64(integer(m.GCFence)); gc > 0 {
			list = append(list, gc, gc+1)
		}
	}
	return rapid.SampledFrom(list).Draw(rt, "token")
}

func (d *differ) attempt(rt *rapid.T, before protocol.Claim, tick int64, likely bool) int {
	if likely && before.Tick == tick {
		return max(1, before.Attempt+rapid.SampledFrom([]int{1, 1, 1, 0}).Draw(rt, "above"))
	}
	return rapid.IntRange(1, 4).Draw(rt, "attempt")
}

func integer(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}
