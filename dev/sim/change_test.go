package sim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/sim"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

// A move is a change of the list of nodes, of which there are six.
type move struct {
	from, to []int
	// changed: an operator runs membership.Change. Otherwise clients just come back
	// with the other list.
	changed bool
	// whole: the operator goes on until all nodes of the new list are open. One that a change
	// has left behind forbids to change back.
	whole bool
}

// TestListChange changes the list of nodes under four clients who want one lock,
// and move to the new list one by one, from long before the change until long
// after it. No promise is broken, however messages are lost.
func TestListChange(t *testing.T) {
	t.Parallel()
	for i, m := range []move{
		{from: []int{0, 1, 2}, to: []int{0, 1, 2, 3, 4}, changed: true},
		{from: []int{0, 1, 2, 3, 4}, to: []int{0, 1, 2}, changed: true},
		{from: []int{0, 1, 2}, to: []int{2, 3, 4}, changed: true},
		{from: []int{0}, to: []int{0, 1, 2}, changed: true},
		{from: []int{1, 2, 3}, to: []int{1}, changed: true},
	} {
		seed := sim.Seed(*first + i)
		if r := simulateMove(t, drawMove(seed), m); len(r.violations) > 0 {
			t.Errorf("from %v to %v, seed %d: %v", m.from, m.to, seed, r.violations[0])
		} else if !r.both() {
			t.Errorf("from %v to %v, seed %d: claims were not granted on both lists", m.from, m.to, seed)
		}
	}
	forget := move{from: []int{0, 1, 2}, to: []int{3, 4, 5}}
	if r := simulateMove(t, drawMove(1), forget); len(r.violations) == 0 {
		t.Error("clients of two lists that know nothing of each other break no promise")
	}
}

func drawMove(seed sim.Seed) params {
	p := drawLocks(seed)
	p.nodes, p.every, p.behind, p.length, p.troubles = 6, 50*time.Millisecond, 0, time.Minute, nil
	return p
}

func simulateMove(t *testing.T, p params, m move) result {
	t.Helper()
	return simulatePeople(t, p, func(ctx context.Context, w *sim.World, luck *rand.Rand, people *sync.WaitGroup) {
		for i := range p.replicas {
			clock := sim.NewClock(time.Now(), time.Duration(luck.Int64N(int64(p.offsets)+1)), 0)
			until := time.Duration((0.2 + 0.6*luck.Float64()) * float64(p.length))
			people.Go(func() { mover(ctx, w, p, m, "c"+strconv.Itoa(i), clock, until) })
		}
		if m.changed {
			people.Go(func() { operate(ctx, w, m, p.length/2) })
		}
	})
}

// simulatePeople runs a world with six nodes in which start has set people going.
func simulatePeople(t *testing.T, p params, start func(ctx context.Context, w *sim.World, luck *rand.Rand, people *sync.WaitGroup)) (r result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		w := sim.NewWorld(p.seed, p.weather, machines(p.nodes, p.without))
		luck := p.seed.Draw("move")
		for _, n := range w.Nodes {
			n.Clock = sim.NewClock(time.Now(), 0, p.rate(luck))
		}
		ctx, end := context.WithTimeout(context.Background(), p.length)
		defer end()
		running, stop := context.WithCancel(context.Background())
		var world, people sync.WaitGroup
		world.Go(func() { w.Run(running) })
		start(ctx, w, luck, &people)
		people.Wait()
		stop()
		world.Wait()
		r = result{params: p, record: sim.Record{Exclusive: true, Events: w.History.Events()}}
		r.violations = sim.Check(r.record)
	})
	return r
}

// TestListChangeAndBack changes the list and changes it back, while a client sleeps. When it
// wakes, the list is its own again, but at a later epoch: it is granted nothing, while a client
// that has joined again is.
func TestListChangeAndBack(t *testing.T) {
	t.Parallel()
	there := move{from: []int{0, 1, 2}, to: []int{0, 1, 2, 3, 4}, whole: true}
	back := move{from: there.to, to: there.from, whole: true}
	p := drawMove(sim.Seed(*first))
	woke := 0 // events before
	r := simulatePeople(t, p, func(ctx context.Context, w *sim.World, _ *rand.Rand, people *sync.WaitGroup) {
		people.Go(func() {
			sleeper, err := newClient(w, w.NewProcess("sleeper", sim.NewClock(time.Now(), 0, 0)), ttl, atNodes(there.from))
			if err != nil {
				t.Error(err)
				return
			}
			early, cancel := context.WithTimeout(ctx, p.length/4)
			defer cancel()
			_ = sleeper.conn.declareNew(early)
			sleeper.want(early, p, p.seed.Draw("sleeper"))
			operate(ctx, w, there, 0)
			operate(ctx, w, back, 0)
			woke = len(w.History.Events())
			people.Go(func() { mover(ctx, w, p, back, "c", sim.NewClock(time.Now(), 0, 0), 0) })
			sleeper.want(ctx, p, p.seed.Draw("sleeper", "awake"))
			_ = sleeper.conn.close()
		})
	})
	if len(r.violations) > 0 {
		t.Errorf("seed %d: %v", p.seed, r.violations[0])
	}
	grants := map[string]int{} // by whom, and whether it was after the sleep
	for i, e := range r.record.Events {
		if e.What == sim.Granted {
			grants[fmt.Sprint(e.Replica, " ", i >= woke)]++
		}
	}
	if grants["sleeper false"] == 0 || grants["c.moved true"] == 0 || grants["sleeper true"] > 0 {
		t.Errorf("seed %d: grants to the sleeper before, to one that has joined again, and to the sleeper that is awake: %v", p.seed, grants)
	}
}

// mover is a client that takes the other list at some time.
func mover(ctx context.Context, w *sim.World, p params, m move, name string, clock *sim.Clock, until time.Duration) {
	early, cancel := context.WithTimeout(ctx, until)
	defer cancel()
	if c, err := newClient(w, w.NewProcess(name, clock), ttl, atNodes(m.from)); err == nil {
		_ = c.conn.declareNew(early)
		c.want(early, p, p.seed.Draw(name))
		_ = c.conn.close()
	}
	if c, err := newClient(w, w.NewProcess(name+".moved", clock), ttl, atNodes(m.to)); err == nil {
		for ctx.Err() == nil && c.conn.join(ctx) != nil {
			time.Sleep(300 * time.Millisecond)
		}
		c.want(ctx, p, p.seed.Draw(name, "moved"))
		_ = c.conn.close()
	}
}

// operate changes the list, and tries until that is done.
func operate(ctx context.Context, w *sim.World, m move, when time.Duration) {
	time.Sleep(when)
	p := w.NewProcess("operator", sim.NewClock(time.Now(), 0, 0))
	change := membership.Change{From: nodesOf(p, ttl, m.from), To: nodesOf(p, ttl, m.to)}
	open := false
	change.Progress = func(text string) {
		open = open || !m.whole || text == fmt.Sprintf("the new list is open: %d of its %d nodes", len(m.to), len(m.to))
	}
	for ctx.Err() == nil && (change.Run(ctx) != nil || !open) {
		time.Sleep(500 * time.Millisecond)
	}
}

// both reports whether claims were granted on the list of before and on the other.
func (r result) both() bool {
	before, after := false, false
	for _, e := range r.record.Events {
		moved := len(e.Replica) > len("c0")
		before = before || e.What == sim.Granted && !moved
		after = after || e.What == sim.Granted && moved
	}
	return before && after
}
