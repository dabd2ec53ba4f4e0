package redlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A changeWorld is nodes, a cluster on the old list that has served for a while,
// and one replica of each list that claims all it can.
type changeWorld struct {
	minis    *redistest.Minis
	from, to membership.Config
	shared   []int // nodes in both lists
	wires    *wires

	mu     sync.Mutex
	grants []grant
	stop   context.CancelFunc
	both   sync.WaitGroup

	through chan struct{} // closed when the change has gone through
}

// A grant is a lease that a replica got.
type grant struct {
	list         string
	tick         time.Time
	token        locking.Token
	asked, given time.Time
}

const changeEvery = 2 * time.Second // ticks

func newChangeWorld(t *testing.T, from, to []int) *changeWorld {
	t.Helper()
	w := &changeWorld{minis: redistest.MiniN(t, 6), wires: newWires(), through: make(chan struct{})}
	for _, i := range to {
		if slices.Contains(from, i) {
			w.shared = append(w.shared, i)
		}
	}
	for _, u := range w.minis.URLs() {
		w.wires.add(u, w.minis)
	}
	w.from, w.to = w.list(from), w.list(to)
	set := w.open(t, w.from)
	defer set.Close()
	if err := set.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Hour)
	return w
}

// list is the configuration with the nodes of these numbers.
func (w *changeWorld) list(numbers []int) membership.Config {
	cfg := membership.Config{Timeout: 200 * time.Millisecond, TTL: 5 * time.Second, Grace: 6 * time.Second, Embedded: true, Transport: w.wires}
	for _, i := range numbers {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: w.minis.URLs()[i]})
	}
	return cfg
}

func (w *changeWorld) open(t *testing.T, cfg membership.Config) *membership.Set {
	t.Helper()
	set, err := membership.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func (w *changeWorld) close() {
	w.wires.close()
	w.minis.Close()
}

// contend starts a replica of each list; halt ends them.
func (w *changeWorld) contend(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop
	w.both.Go(func() { w.claimAll(ctx, t, "old", w.from) })
	w.both.Go(func() {
		// If no node remembers the old list, the new list looks like a cluster of its own.
		if len(w.shared) == 0 {
			select {
			case <-ctx.Done():
			case <-w.through:
			}
		}
		w.claimAll(ctx, t, "new", w.to)
	})
}

func (w *changeWorld) halt() {
	w.stop()
	w.both.Wait()
}

// claimAll is a replica with its supervisor: it joins as soon as possible, and tries each
// of the last ticks until it gets it.
func (w *changeWorld) claimAll(ctx context.Context, t *testing.T, list string, cfg membership.Config) {
	set := w.open(t, cfg)
	defer set.Close()
	l, err := New(set, Options{})
	if err != nil {
		t.Error(err)
		return
	}
	defer l.Close()
	joined, mine := false, map[time.Time]bool{}
	for ctx.Err() == nil {
		joined = joined || set.Join(ctx) == nil
		for back := 1; joined && back >= 0; back-- {
			tick := time.Now().Truncate(changeEvery).Add(-time.Duration(back) * changeEvery)
			if !mine[tick] {
				mine[tick] = w.claim(ctx, l, list, tick)
			}
		}
		time.Sleep(changeEvery)
	}
}

func (w *changeWorld) claim(ctx context.Context, l *Locker, list string, tick time.Time) bool {
	asked := time.Now()
	lease, err := l.TryAcquire(ctx, locking.Request{Name: "job", Tick: tick, TTL: 4 * time.Second, Direct: asked.UnixMilli()%2 == 0})
	if err != nil {
		return false
	}
	w.mu.Lock()
	w.grants = append(w.grants, grant{list, tick, lease.Claim().Token, asked, time.Now()})
	w.mu.Unlock()
	_ = lease.Release(ctx, nil) // a sealed node may refuse it
	return true
}

// granted counts the leases that a list's replica got since then.
func (w *changeWorld) granted(list string, since time.Time) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, g := range w.grants {
		if g.list == list && g.asked.After(since) {
			n++
		}
	}
	return n
}

// cutOff runs the change, cut off after some messages, and later again. It reports whether
// the first run was complete.
func (w *changeWorld) cutOff(t *testing.T, after int, lost bool) (all bool) {
	t.Helper()
	w.contend(t)
	time.Sleep(2 * changeEvery)
	tool := w.wires.cut(after, lost)
	err := w.change(t, tool)
	all = tool.left() > 0
	if err != nil && (all || !errors.Is(err, locking.ErrNoQuorum)) {
		t.Errorf("cut off after %d messages: %v", after, err)
	}
	time.Sleep(2 * changeEvery)
	w.finish(t)
	return all
}

// finish runs the change to its end, and waits until the new list serves.
func (w *changeWorld) finish(t *testing.T) {
	t.Helper()
	if err := w.change(t, w.wires); err != nil {
		t.Errorf("run again: %v", err)
	}
	close(w.through)
	done := time.Now()
	time.Sleep(w.from.Grace + 2*changeEvery)
	if w.granted("new", done) == 0 || w.granted("old", done) > 0 {
		t.Errorf("in the end the new list granted %d, the old one %d", w.granted("new", done), w.granted("old", done))
	}
	w.halt()
	w.check(t)
}

// change changes the list over the given network.
func (w *changeWorld) change(t *testing.T, net client.Transport) error {
	t.Helper()
	c := membership.Change{From: w.from, To: w.to}
	c.From.Transport, c.To.Transport = net, net
	return c.Run(t.Context())
}

// testLastTick makes the replica of the old list claim a tick ahead of time, as far as the
// nodes allow, and that of the new list try the same ticks. setClocks is called repeatedly,
// to keep slow clocks going.
func (w *changeWorld) testLastTick(t *testing.T, setClocks func()) {
	t.Helper()
	setClocks()
	old, err := New(w.openFor(t, w.from), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	var last time.Time
	for ahead := range 10 {
		if tick := time.Now().Add(time.Duration(ahead) * time.Second).Truncate(time.Second); w.claim(t.Context(), old, "old", tick) {
			last = tick
		}
	}
	if ahead := time.Until(last); ahead < w.from.Grace/4 {
		t.Fatalf("the furthest tick that was granted is %v ahead", ahead)
	}
	if err = w.change(t, w.wires); err != nil {
		t.Fatal(err)
	}
	set := w.openFor(t, w.to)
	if err := set.Join(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := New(set, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 40 { // from before the floor to beyond
		w.claim(t.Context(), l, "new", last)
		time.Sleep(w.from.Grace / 20)
		setClocks()
	}
	if !w.claim(t.Context(), l, "new", time.Now().Truncate(time.Second).Add(-time.Second)) {
		t.Error("the new list grants nothing after its grace")
	}
	w.check(t)
}

func (w *changeWorld) openFor(t *testing.T, cfg membership.Config) *membership.Set {
	t.Helper()
	set := w.open(t, cfg)
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// check compares the grants with the promises: a tick once, and tokens that grow.
func (w *changeWorld) check(t *testing.T) {
	t.Helper()
	ticks, tokens := map[time.Time]string{}, map[locking.Token]bool{}
	for i, g := range w.grants {
		if by, twice := ticks[g.tick]; twice {
			t.Errorf("tick %v was granted by the %s list and again by the %s one", g.tick, by, g.list)
		}
		if tokens[g.token] {
			t.Errorf("token %d was given twice", g.token)
		}
		ticks[g.tick], tokens[g.token] = g.list, true
		for _, before := range w.grants[:i] {
			if before.given.Before(g.asked) && before.token >= g.token {
				t.Errorf("token %d was given after %d", g.token, before.token)
			}
		}
	}
	if len(w.grants) == 0 {
		t.Error("nothing was granted at all")
	}
}
