package membership

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/client"
)

// Pauses between probes of a node that is down.
const (
	firstProbe = 100 * time.Millisecond
	maxProbe   = 2 * time.Second
)

// Run watches the nodes until ctx ends, and returns its error. It probes nodes that are
// down, and uses them again once they answer and pass the checks. It formats nodes that
// went blank if that is safe. It calls idle nodes, so a restart is noticed, and its
// grace over, before the next tick. It also compares the clocks.
func (s *Set) Run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	var skewed map[string]time.Duration // clocks that were reported
	pause := firstProbe
	for {
		s.hour.Note(time.Now(), s.NodeStates())
		wait := pause
		if !slices.ContainsFunc(s.nodes, func(n *Node) bool { return n.current().needsAttention() }) {
			pause, wait = firstProbe, s.cfg.CheckEvery
			for _, n := range s.nodes { // until one has been idle for CheckEvery
				wait = min(wait, s.cfg.CheckEvery-time.Since(n.current().heard))
			}
			wait = max(wait, firstProbe)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
			pause = firstProbe // a node that fails again may be back at once
		case <-time.After(wait):
			pause = min(2*pause, maxProbe)
		}
		s.checkNodes(ctx)
		skewed = s.compareClocks(skewed)
	}
}

func (s *Set) checkNodes(ctx context.Context) {
	Each(s.nodes, func(n *Node) struct{} {
		switch c := n.current(); {
		case c.needsAttention():
			n.probe(ctx)
		case c.doubted:
			n.learn(func(st *state) { st.doubted = false })
			n.Call(ctx, s.rules.peek, nil)
			_ = tryWrites(ctx, n) // current tells it
		case time.Since(c.heard) >= s.cfg.CheckEvery:
			n.Call(ctx, s.rules.peek, nil)
		}
		return struct{}{}
	})
	if !slices.ContainsFunc(s.nodes, func(n *Node) bool { c := n.current(); return c.blank && c.cause == nil && c.unfit == nil }) {
		return
	}
	// Nodes went blank while the others are in use.
	views := s.setAside(s.examine(ctx, 1))
	if judgeAll(views) == nil { // else every call returns the refusal
		_, _ = s.formatBlank(ctx, views) // failed nodes stay blank and are retried
	}
}

// probe examines a node that is down or refused. It must pass all checks again, since
// another server may have its address now: one that is another node in use, for example.
func (n *Node) probe(ctx context.Context) {
	v := n.examine(ctx)
	if v.info == nil && !v.answered() {
		n.observe(ctx, v.reply)
		return
	}
	var inUse []view
	for _, o := range n.set.nodes {
		if c := o.current(); o == n || c.cause == nil && c.unfit == nil {
			inUse = append(inUse, view{node: o, info: client.Info{"run_id": c.runID}})
		}
	}
	err := join(append([]error{v.judge()}, sameServerErrors(inUse)...)...)
	if before := n.learn(func(st *state) { st.unfit = err }); err == nil {
		n.observe(ctx, v.reply)
		_ = tryWrites(ctx, n) // current tells it
	} else if before.unfit == nil && n.set.cfg.Observer.Down != nil {
		n.set.cfg.Observer.Down(n.name, err)
	}
}

// compareClocks tells the observer which clocks began or ceased to deviate by more than
// a quarter of the grace, half of what nodes accept. It returns those that deviate now.
func (s *Set) compareClocks(before map[string]time.Duration) map[string]time.Duration {
	tell := s.cfg.Observer.Skewed
	if tell == nil {
		return nil
	}
	now := skews(s.offsets(), s.cfg.Grace/4)
	for who, by := range now {
		if before[who] == 0 {
			tell(who, by)
		}
	}
	for who := range before {
		if now[who] == 0 {
			tell(who, 0)
		}
	}
	return now
}

// A skew is the offset of a clock.
type skew struct {
	who string // a node, or "" for this process
	by  time.Duration
}

func byOffset(a, b skew) int { return cmp.Compare(a.by, b.by) }

// skews compares the clocks of the nodes and of this process, and returns by how much those
// differ from the median that do so by more than limit. With one node, this process's clock is
// blamed.
func skews(nodes []skew, limit time.Duration) map[string]time.Duration {
	clocks := append([]skew{{}}, nodes...)
	sorted := slices.SortedStableFunc(slices.Values(clocks), byOffset)
	median := sorted[len(sorted)/2].by
	if len(clocks) == 2 {
		median = clocks[1].by
	}
	apart := map[string]time.Duration{}
	for _, c := range clocks {
		if by := c.by - median; by.Abs() > limit {
			apart[c.who] = by
		}
	}
	return apart
}

// ClockOffset returns how far the local clock is ahead of the median of all nodes;
// false before the first reply.
func (s *Set) ClockOffset() (time.Duration, bool) { return behind(s.offsets()) }

// behind is the negative median of the offsets.
func behind(list []skew) (time.Duration, bool) {
	if len(list) == 0 {
		return 0, false
	}
	slices.SortFunc(list, byOffset)
	return -list[len(list)/2].by, true
}
