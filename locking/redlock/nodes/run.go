package nodes

import (
	"context"
	"time"
)

// Pauses between probes of a node that is down.
const (
	firstProbe = 100 * time.Millisecond
	maxProbe   = 2 * time.Second
)

// Run keeps an eye on the nodes until ctx ends, and returns its error: it
// probes nodes that are down and takes them back when they answer and are what
// they should be, formats nodes that have gone blank where that is safe, and
// asks nodes that nobody has called for a while, so that a restart is noticed,
// and its grace over, before the next tick. It compares the clocks, too.
func (s *Set) Run(ctx context.Context) error {
	s.running.Store(true)
	defer s.running.Store(false)
	pause := firstProbe
	var skewed map[string]bool
	for {
		wait := pause
		if !s.ailing() {
			pause, wait = firstProbe, s.untilCheck()
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-s.wake:
			timer.Stop()
			pause = firstProbe // a node that fails anew may be back at once
		case <-timer.C:
			pause = min(2*pause, maxProbe)
		}
		s.attend(ctx)
		skewed = s.watchClocks(skewed)
	}
}

// ailing tells whether some node needs attention.
func (s *Set) ailing() bool {
	for _, n := range s.nodes {
		if n.health.get().ailing() {
			return true
		}
	}
	return false
}

// untilCheck returns how long until some node has not been heard for too long.
func (s *Set) untilCheck() time.Duration {
	wait := s.cfg.CheckEvery
	for _, n := range s.nodes {
		wait = min(wait, s.cfg.CheckEvery-time.Since(n.health.get().heard))
	}
	return max(wait, firstProbe)
}

// attend looks after the nodes that need it.
func (s *Set) attend(ctx context.Context) {
	each(s.nodes, func(n *Node) struct{} {
		switch c := n.health.get(); {
		case c.cause != nil || c.refused != nil:
			n.probe(ctx)
		case c.doubted, time.Since(c.heard) >= s.cfg.CheckEvery:
			n.health.setDoubted(false)
			n.Call(ctx, s.rules.peek, nil)
		}
		return struct{}{}
	})
	for _, n := range s.nodes {
		if c := n.health.get(); c.blank && c.cause == nil {
			s.adopt(ctx)
			return
		}
	}
}

// probe examines a node that is down or refused, and judges it anew before it is
// used: what comes back at an address may be another server.
func (n *Node) probe(ctx context.Context) {
	v := n.examine(ctx)
	if v.info == nil && !v.answered() {
		n.observe(ctx, v.reply)
		return
	}
	err := join(v.judge(), n.twin())
	if news := n.health.setRefused(err); err == nil {
		n.observe(ctx, v.reply)
	} else if news && n.set.cfg.Observer.Down != nil {
		n.set.cfg.Observer.Down(n.name, err)
	}
}

// twin returns a refusal if another node in use is the same server.
func (n *Node) twin() error {
	var views []view
	for _, o := range n.set.nodes {
		if c := o.health.get(); o == n || c.cause == nil && c.refused == nil {
			views = append(views, view{node: o, info: serverInfo{"run_id": c.runID}})
		}
	}
	return join(twins(views)...)
}

// adopt formats nodes that went blank while the others run.
func (s *Set) adopt(ctx context.Context) {
	views := s.setAside(s.examine(ctx))
	if judgeAll(views) != nil {
		return // the refusals come back with every call
	}
	_, _ = s.formatBlank(ctx, views) // what failed stays blank and is tried again
}
