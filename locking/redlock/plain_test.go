package redlock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/nodetest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/locking"
)

// plainNodes are nodes n0, n1 … without servers, and the network to them.
type plainNodes struct {
	mu    sync.Mutex
	nodes map[string]*nodetest.Node
	faults
	calls map[string]int // since they were counted last, by script
	order []string       // the served scripts: "script node"
}

// faults of the network, by node, or by "script node".
type faults struct {
	down  map[string]bool
	late  map[string]time.Duration // how long requests take to arrive
	mute  map[string]int           // number of lost replies
	heard map[string]time.Duration // how long replies take
}

// newPlain declares n nodes as new. Locks last for 30 seconds, a call for 300 ms.
func newPlain(t *testing.T, n int) (*plainNodes, *cluster) {
	t.Helper()
	p := &plainNodes{nodes: map[string]*nodetest.Node{}, calls: map[string]int{}, faults: faults{
		down: map[string]bool{}, late: map[string]time.Duration{}, mute: map[string]int{}, heard: map[string]time.Duration{},
	}}
	var urls []string
	for i := range n {
		p.nodes[nodeName(i)] = nodetest.New(nodeName(i) + " incarnation 0")
		urls = append(urls, fmt.Sprintf("redis://h%d:6379", i))
	}
	c := newCluster(t, urls, func(cfg *membership.Config) {
		cfg.Transport = p
		for i := range cfg.Nodes {
			cfg.Nodes[i].Name = nodeName(i)
		}
	})
	time.Sleep(time.Hour + 123*time.Millisecond)
	p.since()
	return p, c
}

func nodeName(i int) string { return fmt.Sprintf("n%d", i) }

// Eval implements client.Transport. A sent request arrives, even if its sender has given up.
func (p *plainNodes) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
	what := script.Name() + " " + node
	p.mu.Lock()
	p.calls[script.Name()]++
	down := p.down[node]
	late := max(p.late[node], p.late[what])
	p.mu.Unlock()
	if down {
		return nil, errors.New("connection refused")
	}
	type reply struct {
		words any
		err   error
	}
	replies := make(chan reply, 1)
	go func() {
		time.Sleep(late)
		words, err := p.serve(node, script.Name(), keys, args)
		p.mu.Lock()
		wait, lost := p.heard[what], p.mute[what] > 0
		p.mute[what]--
		p.mu.Unlock()
		time.Sleep(wait)
		if lost {
			err = errors.New("connection reset")
		}
		replies <- reply{words, err}
	}()
	select {
	case r := <-replies:
		return r.words, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *plainNodes) serve(node, script string, keys []string, args []any) (any, error) {
	text := make([]string, len(args))
	for i, a := range args {
		text[i] = fmt.Sprint(a)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.order = append(p.order, script+" "+node)
	words, err := p.nodes[node].Call(time.Now(), script, keys, text)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list, nil
}

// Info implements client.Transport.
func (p *plainNodes) Info(_ context.Context, node string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down[node] {
		return "", errors.New("connection refused")
	}
	return p.nodes[node].Info()
}

// since returns the calls of the protocol since it was asked last.
func (p *plainNodes) since() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.calls)) {
		if name != "peek" {
			words = append(words, fmt.Sprintf("%s %d", name, p.calls[name]))
		}
	}
	clear(p.calls)
	p.order = nil
	return strings.Join(words, ", ")
}

// stop and start remove nodes and bring them back with their remaining memory; restart also
// gives them a new incarnation without volatile memory.
func (p *plainNodes) stop(nodes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range nodes {
		p.down[nodeName(i)] = true
	}
}

func (p *plainNodes) start(nodes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range nodes {
		p.down[nodeName(i)] = false
	}
}

func (p *plainNodes) restart(incarnation int, nodes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range nodes {
		n := p.nodes[nodeName(i)]
		n.Restart(fmt.Sprint(nodeName(i), " incarnation ", incarnation), n.State.Lasting())
	}
}

// wipe gives nodes another incarnation without any memory.
func (p *plainNodes) wipe(incarnation int, nodes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range nodes {
		p.nodes[nodeName(i)].Restart(fmt.Sprint(nodeName(i), " incarnation ", incarnation), nodetest.Nothing())
	}
}

// loseLocks ends all locks before their time.
func (p *plainNodes) loseLocks() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		for key, job := range n.Jobs {
			job.Lock.Until = 0
			n.Jobs[key] = job
		}
	}
}

// locks returns which nodes have a lock of the job, and whose.
func (p *plainNodes) locks() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var words []string
	for _, name := range slices.Sorted(maps.Keys(p.nodes)) {
		n := p.nodes[name]
		n.Sweep(time.Now())
		for _, job := range n.Jobs {
			if job.Lock.Owner != "" {
				words = append(words, name)
			}
		}
	}
	return strings.Join(words, " ")
}

// raise makes nodes accept a token for every known job.
func (p *plainNodes) raise(token uint64, nodes ...int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, i := range nodes {
		for key, job := range p.nodes[nodeName(i)].Jobs {
			job.Fence = max(job.Fence, token)
			p.nodes[nodeName(i)].Jobs[key] = job
		}
	}
}

// set changes the faults of the network.
func (p *plainNodes) set(f func(*faults)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(&p.faults)
}

// served returns the order in which a node has served the protocol's scripts.
func (p *plainNodes) served(node int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var words []string
	for _, call := range p.order {
		if script, at, _ := strings.Cut(call, " "); at == nodeName(node) && script != "peek" {
			words = append(words, script)
		}
	}
	return strings.Join(words, " ")
}

// plainLocker is a replica of plain nodes without a background of its own.
func plainLocker(t *testing.T, c *cluster) *Locker {
	t.Helper()
	l, err := New(c.open(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func direct(req locking.Request) locking.Request {
	req.Direct = true
	return req
}

func waiting(req locking.Request) locking.Request {
	req.Waiting = true
	return req
}
