package redlock

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// A replica is frozen, with a lease and with a COMMIT on its way, while the list of nodes changes
// from a, b, c to a, b, d, or there and back. When it wakes it wins nothing, neither by the late
// COMMIT nor by new tries for ticks that replicas of the new list can win: a and b refuse its
// list, or its epoch of the list. Node c still votes for it, as neither change has reached c.
func TestFrozenReplicaOfAFormerList(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		lists   []string // one after the other, by the nodes' names
		refusal string   // of a and b
	}{
		{"changed", []string{"abd"}, "belongs to the list [a b d], this replica lists [a b c]"},
		{"there and back", []string{"abd", "abc"}, "the node's list has epoch 2, this replica's 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newFrozenWorld(t)
			held := w.freeze(t)
			list := "abc"
			for _, next := range tt.lists {
				change := membership.Change{From: w.operators(list), To: w.operators(next)}
				if err := change.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				list = next
			}
			w.wires.thaw()
			w.wantLateCommit(t)
			if err := held.Extend(t.Context()); err == nil {
				t.Error("the lease of the former list was extended")
			}
			awake := w.join(t, w.list(list))
			var token locking.Token
			var refusals string
			eventually(t, "the new list grants a tick", func() bool {
				req := locking.Request{Name: "job", Tick: time.Now().Truncate(time.Second), TTL: lossTTL}
				for _, try := range []locking.Request{req, direct(req)} {
					lease, err := w.frozen.TryAcquire(t.Context(), try)
					if err == nil {
						t.Fatalf("the replica of the former list has won token %d", lease.Claim().Token)
					}
					if errors.Is(err, locking.ErrRefused) {
						refusals = err.Error()
					}
				}
				lease, err := awake.TryAcquire(t.Context(), req)
				if err != nil {
					return false
				}
				token = lease.Claim().Token
				_ = lease.Release(t.Context(), nil)
				return true
			})
			if token <= held.Claim().Token {
				t.Errorf("token %d after %d", token, held.Claim().Token)
			}
			if strings.Count(refusals, tt.refusal) != 2 {
				t.Errorf("want two nodes to refuse with %q: %s", tt.refusal, refusals)
			}
		})
	}
}

// A frozenWorld is the nodes a to d, and a replica of a, b and c that freezes.
type frozenWorld struct {
	servers map[string]*redistest.Server
	wires   *frozenWires
	frozen  *Locker
	late    sync.WaitGroup // the try whose COMMIT is on its way
}

func newFrozenWorld(t *testing.T) *frozenWorld {
	t.Helper()
	w := &frozenWorld{
		servers: map[string]*redistest.Server{},
		wires:   &frozenWires{wires: newWires(), awake: make(chan struct{}), commits: make(chan struct{}, 3), last: map[string]chan struct{}{}},
	}
	for i, s := range redistest.StartN(t, 4) {
		name := string(rune('a' + i))
		w.servers[name], w.wires.clients[name] = s, redis.NewClient(s.Client().Options())
	}
	cfg := w.list("abc")
	set, err := membership.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = set.Close() }()
	eventually(t, "the nodes are declared new", func() bool { return set.Init(t.Context(), false) == nil })
	t.Cleanup(func() { // after the replica has ended
		w.wires.sending.Wait()
		w.wires.close()
	})
	cfg.Transport = w.wires
	w.frozen = w.join(t, cfg)
	t.Cleanup(func() { // before it ends
		w.wires.thaw()
		w.late.Wait()
	})
	return w
}

// list is the configuration with the nodes of these names.
func (w *frozenWorld) list(names string) membership.Config {
	cfg := membership.Config{Timeout: lossTimeout, TTL: lossTTL, Grace: lossGrace}
	for name := range strings.SplitSeq(names, "") {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{Name: name, URL: w.servers[name].URL()})
	}
	return cfg
}

// operators is the same for operators, who do not reach c.
func (w *frozenWorld) operators(names string) membership.Config {
	cfg := w.list(names)
	for i, n := range cfg.Nodes {
		if n.Name == "c" {
			cfg.Nodes[i].URL = "redis://127.0.0.1:1"
		}
	}
	return cfg
}

// join starts a replica, as long as the test.
func (w *frozenWorld) join(t *testing.T, cfg membership.Config) *Locker {
	t.Helper()
	c := &cluster{cfg: cfg}
	l := c.locker(t)
	eventually(t, "the replica joins", func() bool { return l.set.Join(t.Context()) == nil })
	return l
}

// freeze lets the replica get a lease, and freezes it before the COMMIT of another try is sent.
func (w *frozenWorld) freeze(t *testing.T) (held locking.Lease) {
	t.Helper()
	eventually(t, "a lease", func() (ok bool) {
		var err error
		held, err = w.frozen.TryAcquire(t.Context(), locking.Request{Name: "held", Tick: time.Now().Truncate(time.Second), TTL: lossTTL})
		return err == nil
	})
	w.wires.arm()
	committing := func() bool { return len(w.wires.commits) == cap(w.wires.commits) }
	w.late.Go(func() {
		for t.Context().Err() == nil && !committing() { // a busy machine may spoil the first round
			lease, err := w.frozen.TryAcquire(t.Context(), locking.Request{Name: "late", Tick: time.Now().Truncate(time.Second), TTL: lossTTL})
			if err == nil {
				t.Errorf("the late COMMIT has won token %d", lease.Claim().Token)
			}
		}
	})
	eventually(t, "a try reaches its COMMIT", committing)
	return held
}

// wantLateCommit wants the COMMIT that was on its way taken by c alone.
func (w *frozenWorld) wantLateCommit(t *testing.T) {
	t.Helper()
	w.late.Wait()
	w.wires.sending.Wait()
	for name, want := range map[string]int64{"a": 0, "b": 0, "c": 1} {
		if got := w.servers[name].Client().Exists(t.Context(), "{quorate}:job:late:claim.schedule").Val(); got != want {
			t.Errorf("%s has %d claims by the late COMMIT, want %d", name, got, want)
		}
	}
}

// frozenWires is the network of a replica that freezes. What it sends while it is frozen arrives
// when it thaws, at each node in the order in which it was sent.
type frozenWires struct {
	*wires
	awake   chan struct{} // closed by thaw
	commits chan struct{} // one for each COMMIT that waits
	sending sync.WaitGroup

	mu             sync.Mutex
	armed          bool // the next COMMIT freezes the replica
	frozen, thawed bool
	last           map[string]chan struct{} // closed when the last request to the node has been answered
}

func (w *frozenWires) arm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed = true
}

func (w *frozenWires) thaw() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.thawed {
		close(w.awake)
	}
	w.thawed = true
}

func (w *frozenWires) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
	late := context.WithoutCancel(ctx)
	return w.send(node, script.Name(), func() (any, error) { return w.wires.Eval(late, node, script, keys, args) })
}

func (w *frozenWires) Info(ctx context.Context, node string) (string, error) {
	late := context.WithoutCancel(ctx)
	text, err := w.send(node, "", func() (any, error) { return w.wires.Info(late, node) })
	if err != nil {
		return "", err
	}
	return text.(string), nil
}

func (w *frozenWires) send(node, script string, call func() (any, error)) (any, error) {
	w.mu.Lock()
	w.frozen = w.frozen || w.armed && script == "commit"
	if !w.frozen || w.thawed {
		w.mu.Unlock()
		return call()
	}
	before, done := w.last[node], make(chan struct{})
	w.last[node] = done
	var reply any
	var err error
	w.sending.Go(func() {
		defer close(done)
		<-w.awake
		if before != nil {
			<-before
		}
		reply, err = call()
	})
	w.mu.Unlock()
	if script == "commit" {
		select {
		case w.commits <- struct{}{}:
		default: // of a try that was repeated
		}
	}
	<-done // timeouts are frozen, too
	return reply, err
}
