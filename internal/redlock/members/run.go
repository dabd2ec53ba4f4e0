package members

import (
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
	pause := firstProbe
	var skewed map[string]bool
	for {
		wait := pause
		if !s.needsAttention() {
			pause, wait = firstProbe, s.untilCheck()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.wake:
			timer.Stop()
			pause = firstProbe // a node that fails again may be back at once
		case <-timer.C:
			pause = min(2*pause, maxProbe)
		}
		s.checkNodes(ctx)
		skewed = s.watchClocks(skewed)
	}
}

func (s *Set) needsAttention() bool {
	return slices.ContainsFunc(s.nodes, func(n *Node) bool { return n.condition().needsAttention() })
}

// untilCheck returns how long until some node has been idle for CheckEvery.
func (s *Set) untilCheck() time.Duration {
	wait := s.cfg.CheckEvery
	for _, n := range s.nodes {
		wait = min(wait, s.cfg.CheckEvery-time.Since(n.condition().heard))
	}
	return max(wait, firstProbe)
}

func (s *Set) checkNodes(ctx context.Context) {
	each(s.nodes, func(n *Node) struct{} {
		switch c := n.condition(); {
		case c.needsAttention():
			n.probe(ctx)
		case c.doubted, time.Since(c.heard) >= s.cfg.CheckEvery:
			n.state.learn(func(k *known) { k.doubted = false })
			n.Call(ctx, s.rules.peek, nil)
		}
		return struct{}{}
	})
	for _, n := range s.nodes {
		if c := n.condition(); c.blank && c.cause == nil && c.refused == nil {
			s.adopt(ctx)
			return
		}
	}
}

// probe examines a node that is down or refused. It must pass all checks again, since
// another server may have its address now.
func (n *Node) probe(ctx context.Context) {
	v := n.examine(ctx)
	if v.info == nil && !v.answered() {
		n.observe(ctx, v.reply)
		return
	}
	err := join(v.judge(), n.twin())
	if news := n.state.refuse(err); err == nil {
		n.observe(ctx, v.reply)
	} else if news && n.set.cfg.Observer.Down != nil {
		n.set.cfg.Observer.Down(n.name, err)
	}
}

// twin returns a refusal if another node in use is the same server.
func (n *Node) twin() error {
	var views []view
	for _, o := range n.set.nodes {
		if c := o.condition(); o == n || c.cause == nil && c.refused == nil {
			views = append(views, view{node: o, info: serverInfo{"run_id": c.runID}})
		}
	}
	return join(twins(views)...)
}

// adopt formats nodes that went blank while the others are in use.
func (s *Set) adopt(ctx context.Context) {
	views := s.setAside(s.examine(ctx))
	if judgeAll(views) == nil { // else every call returns the refusal
		_, _ = s.formatBlank(ctx, views, (*Set).mayFormat) // failed nodes stay blank and are retried
	}
}
