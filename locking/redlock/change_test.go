package redlock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
)

// changes are the changes of the list that the tests make, by the numbers of
// the nodes.
var changes = []struct {
	name     string
	from, to []int
}{
	{"3 to 5", []int{0, 1, 2}, []int{0, 1, 2, 3, 4}},
	{"5 to 3", []int{0, 1, 2, 3, 4}, []int{0, 1, 2}},
	{"one replaced", []int{0, 1, 2}, []int{0, 1, 3}},
	{"1 to 3", []int{0}, []int{0, 1, 2}},
	{"all replaced", []int{0, 1, 2}, []int{3, 4, 5}},
}

// A change of the list that is cut off after any of its messages, the reply to
// the last one lost or not, and run again later: while replicas of both lists
// claim what they can, no tick runs twice and no token is given twice; in the
// end the new list serves and the old one does not.
func TestChangeCutOffAnywhere(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		for _, lost := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, last reply lost: %v", c.name, lost), func(t *testing.T) {
				t.Parallel()
				// Before these only questions are asked.
				first, step := 2*(len(c.from)+len(c.to)), 1
				if os.Getenv("QUORATE_CAMPAIGN") != "full" {
					first, step = first+1, 4
				}
				for after := first; ; after += step {
					all := false
					synctest.Test(t, func(t *testing.T) {
						w := newChangeWorld(t, c.from, c.to)
						defer w.close()
						all = w.cutOff(t, after, lost)
					})
					if all || t.Failed() {
						return
					}
				}
			})
		}
	}
}

// The tick that the old list granted last is not granted by the new one, which
// never heard of it, however the clocks of the new nodes stand.
func TestChangeLeavesNoTickBehind(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		for _, behind := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprintf("%s, new nodes %v behind", c.name, behind), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					w := newChangeWorld(t, c.from, c.to)
					defer w.close()
					w.testLastTick(t, func() {
						for _, i := range c.to {
							if behind > 0 && !slices.Contains(c.from, i) {
								w.minis.Node(i).SetTime(time.Now().Add(-behind))
							}
						}
					})
				})
			})
		}
	}
}

// Requests to seal that do not reach a quorum of the old list: nothing is opened,
// the old list goes on, and the change can be run again.
func TestChangeWithoutSeals(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newChangeWorld(t, c.from, c.to)
				defer w.close()
				w.contend(t)
				time.Sleep(2 * changeEvery)
				deaf := w.from.Nodes[:len(c.from)/2+1]
				err := w.change(t, lossyWires{w.wires, func(node string, script *nodes.Script) bool {
					return script.Name() == "seal" && slices.ContainsFunc(deaf, func(n nodes.NodeConfig) bool { return n.URL == "redis://"+node })
				}})
				if !errors.Is(err, locking.ErrNoQuorum) {
					t.Errorf("without seals: %v", err)
				}
				failed := time.Now()
				time.Sleep(w.from.Grace + 2*changeEvery)
				if w.granted("new", failed) > 0 {
					t.Error("the new list was opened")
				}
				w.finish(t)
			})
		})
	}
}

// Two changes to different lists that are begun at once: one of them may get
// through, and the list of the other is never opened.
func TestChangesAtOnce(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newChangeWorld(t, c.from, c.to)
				defer w.close()
				rival := w.list([]int{c.from[0], 4, 5})
				w.contend(t)
				time.Sleep(2 * changeEvery)
				var mine, others error
				var both sync.WaitGroup
				both.Go(func() { mine = w.change(t, w.wires) })
				both.Go(func() { others = (nodes.Change{From: w.from, To: rival}).Run(t.Context()) })
				both.Wait()
				if mine == nil && others == nil {
					t.Error("both went through")
				}
				if mine == nil {
					w.finish(t)
					return
				}
				// The rival has won, or neither has: then it can be finished.
				if err := (nodes.Change{From: w.from, To: rival}).Run(t.Context()); err != nil {
					t.Errorf("the other change: %v, and then %v", others, err)
				}
				if err := w.change(t, w.wires); err == nil {
					t.Error("a second list was opened")
				}
				w.halt()
				w.check(t)
			})
		})
	}
}

// A changeWorld is nodes, a cluster on the old list that has served for a while,
// and one replica of each list that claims all it can.
type changeWorld struct {
	minis    *redistest.Minis
	from, to nodes.Config
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
func (w *changeWorld) list(numbers []int) nodes.Config {
	cfg := nodes.Config{Timeout: 200 * time.Millisecond, TTL: 5 * time.Second, Grace: 6 * time.Second, Embedded: true, Transport: w.wires}
	for _, i := range numbers {
		cfg.Nodes = append(cfg.Nodes, nodes.NodeConfig{URL: w.minis.URLs()[i]})
	}
	return cfg
}

func (w *changeWorld) open(t *testing.T, cfg nodes.Config) *nodes.Set {
	t.Helper()
	set, err := nodes.Open(cfg)
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
		// Where no node remembers the old list, nobody can tell the replicas of
		// the new one that it is not a cluster of its own.
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

// claimAll is a replica with its supervisor: it joins as soon as it is let, and
// tries each of the last ticks until it has it.
func (w *changeWorld) claimAll(ctx context.Context, t *testing.T, list string, cfg nodes.Config) {
	set := w.open(t, cfg)
	defer set.Close()
	l, err := New(set, Config{})
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
	lease, err := l.TryAcquire(ctx, locking.Request{Name: "job", Tick: tick, TTL: 4 * time.Second})
	if err != nil {
		return false
	}
	w.mu.Lock()
	w.grants = append(w.grants, grant{list, tick, lease.Claim().Token, asked, time.Now()})
	w.mu.Unlock()
	_ = lease.Release(ctx, nil) // a sealed node may keep it from being told
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

// cutOff runs the change, cut off after some messages, and later again. It tells
// whether the first run was through before that.
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
func (w *changeWorld) change(t *testing.T, net nodes.Transport) error {
	t.Helper()
	c := nodes.Change{From: w.from, To: w.to}
	c.From.Transport, c.To.Transport = net, net
	return c.Run(t.Context())
}

// testLastTick has the replica of the old list claim a tick ahead of time, as
// far as the nodes let it, and that of the new list try the same ones.
// setClocks is called now and then, to keep slow clocks going.
func (w *changeWorld) testLastTick(t *testing.T, setClocks func()) {
	t.Helper()
	setClocks()
	old, err := New(w.openFor(t, w.from), Config{})
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
	l, err := New(set, Config{})
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

func (w *changeWorld) openFor(t *testing.T, cfg nodes.Config) *nodes.Set {
	t.Helper()
	set := w.open(t, cfg)
	t.Cleanup(func() { _ = set.Close() })
	return set
}

// check holds what was granted to the promises: a tick once, and tokens that
// grow.
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

// wires is a network to embedded nodes, each of which its name leads to.
type wires struct {
	clients map[string]*redis.Client
}

func newWires() *wires { return &wires{clients: map[string]*redis.Client{}} }

func (w *wires) add(url string, minis *redistest.Minis) {
	addr := url[len("redis://"):]
	if w.clients[addr] == nil {
		w.clients[addr] = redis.NewClient(&redis.Options{
			Addr: addr, Dialer: minis.Dial, Protocol: 2, DisableIdentity: true, MaxRetries: -1,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}, // it looks hosts up
		})
	}
}

func (w *wires) close() {
	for _, c := range w.clients {
		_ = c.Close()
	}
}

func (w *wires) Eval(ctx context.Context, node string, script *nodes.Script, keys []string, args []any) (any, error) {
	return redis.NewScript(script.Source()).Run(ctx, w.clients[node], keys, args...).Result()
}

func (w *wires) Info(ctx context.Context, node string) (string, error) {
	return w.clients[node].Info(ctx).Result()
}

// cut is the network of a process that ends after some messages.
func (w *wires) cut(after int, lost bool) *cutWires {
	return &cutWires{wires: w, rest: after, lost: lost}
}

type cutWires struct {
	*wires
	lost bool // the reply to the last message

	mu   sync.Mutex
	rest int
}

var errCutOff = errors.New("cut off")

// pass tells whether one more message goes out, and whether it is the last.
func (c *cutWires) pass() (ok, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest--
	return c.rest >= 0, c.rest == 0
}

// left returns how many messages could still have been sent.
func (c *cutWires) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rest
}

func (c *cutWires) Eval(ctx context.Context, node string, script *nodes.Script, keys []string, args []any) (any, error) {
	ok, last := c.pass()
	if !ok {
		return nil, errCutOff
	}
	v, err := c.wires.Eval(ctx, node, script, keys, args)
	if last && c.lost {
		return nil, errCutOff
	}
	return v, err
}

func (c *cutWires) Info(ctx context.Context, node string) (string, error) {
	if ok, _ := c.pass(); !ok {
		return "", errCutOff
	}
	return c.wires.Info(ctx, node)
}

// lossyWires is a network that loses requests.
type lossyWires struct {
	*wires
	loses func(node string, script *nodes.Script) bool
}

func (w lossyWires) Eval(ctx context.Context, node string, script *nodes.Script, keys []string, args []any) (any, error) {
	if w.loses(node, script) {
		return nil, errCutOff
	}
	return w.wires.Eval(ctx, node, script, keys, args)
}
