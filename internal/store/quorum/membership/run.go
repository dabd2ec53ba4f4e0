package membership

import (
	"cmp"
	"context"
	"slices"
	"time"
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
	w := watch{Set: s}
	pause := firstProbe
	for {
		wait := pause
		if !w.needsAttention() {
			pause, wait = firstProbe, w.untilCheck()
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.wake:
			pause = firstProbe // a node that fails again may be back at once
		case <-time.After(wait):
			pause = min(2*pause, maxProbe)
		}
		w.checkNodes(ctx)
		w.compareClocks()
	}
}

// A watch is what Run does, and knows from one time to the next.
type watch struct {
	*Set
	skewed map[string]bool // clocks that were reported
}

func (w *watch) needsAttention() bool {
	return slices.ContainsFunc(w.nodes, func(n *Node) bool { return n.condition().needsAttention() })
}

// untilCheck returns how long until some node has been idle for CheckEvery.
func (w *watch) untilCheck() time.Duration {
	wait := w.cfg.CheckEvery
	for _, n := range w.nodes {
		wait = min(wait, w.cfg.CheckEvery-time.Since(n.condition().heard))
	}
	return max(wait, firstProbe)
}

func (w *watch) checkNodes(ctx context.Context) {
	each(w.nodes, func(n *Node) struct{} {
		switch c := n.condition(); {
		case c.needsAttention():
			w.probe(ctx, n)
		case c.doubted:
			n.state.learn(func(k *known) { k.doubted = false })
			n.Call(ctx, w.rules.peek, nil)
			_ = tryWrites(ctx, n) // condition tells it
		case time.Since(c.heard) >= w.cfg.CheckEvery:
			n.Call(ctx, w.rules.peek, nil)
		}
		return struct{}{}
	})
	for _, n := range w.nodes {
		if c := n.condition(); c.blank && c.cause == nil && c.refused == nil {
			w.adopt(ctx)
			return
		}
	}
}

// probe examines a node that is down or refused. It must pass all checks again, since
// another server may have its address now.
func (w *watch) probe(ctx context.Context, n *Node) {
	v := n.examine(ctx)
	if v.info == nil && !v.answered() {
		n.observe(ctx, v.reply)
		return
	}
	err := join(v.judge(), w.twin(n))
	if news := n.state.refuse(err); err == nil {
		n.observe(ctx, v.reply)
		_ = tryWrites(ctx, n) // condition tells it
	} else if news && w.cfg.Observer.Down != nil {
		w.cfg.Observer.Down(n.name, err)
	}
}

// twin returns a refusal if another node in use is the same server.
func (w *watch) twin(n *Node) error {
	var views []view
	for _, o := range w.nodes {
		if c := o.condition(); o == n || c.cause == nil && c.refused == nil {
			views = append(views, view{node: o, info: serverInfo{"run_id": c.runID}})
		}
	}
	return join(twins(views)...)
}

// adopt formats nodes that went blank while the others are in use.
func (w *watch) adopt(ctx context.Context) {
	c := w.examine(ctx).setAside()
	if judgeAll(c.views) == nil { // else every call returns the refusal
		_, _ = c.formatBlank(ctx, census.mayFormat) // failed nodes stay blank and are retried
	}
}

// compareClocks tells the observer which clocks began or ceased to deviate by more than
// a quarter of the grace, half of what nodes accept.
func (w *watch) compareClocks() {
	tell := w.cfg.Observer.Skewed
	if tell == nil {
		return
	}
	now := map[string]bool{}
	for _, c := range skews(w.offsets(), w.cfg.Grace/4) {
		now[c.who] = true
		if !w.skewed[c.who] {
			tell(c.who, c.by)
		}
	}
	for who := range w.skewed {
		if !now[who] {
			tell(who, 0)
		}
	}
	w.skewed = now
}

// A skew is the offset of a clock.
type skew struct {
	who string // a node, or "" for this process
	by  time.Duration
}

func byOffset(a, b skew) int { return cmp.Compare(a.by, b.by) }

// skews compares the clocks of the nodes and of this process, and returns those further
// than limit from the median. With one node, this process's clock is blamed.
func skews(nodes []skew, limit time.Duration) []skew {
	clocks := append([]skew{{}}, nodes...)
	sorted := slices.Clone(clocks)
	slices.SortStableFunc(sorted, byOffset)
	median := sorted[len(sorted)/2].by
	if len(clocks) == 2 {
		median = clocks[1].by
	}
	var apart []skew
	for _, c := range clocks {
		if by := c.by - median; by.Abs() > limit {
			apart = append(apart, skew{c.who, by})
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
