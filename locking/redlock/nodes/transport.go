package nodes

import (
	"context"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Transport carries requests to the nodes, which it knows by their names. The
// usual one is go-redis; Config.Transport takes another, for simulations.
//
// An error says that there was no answer, so that the request may have taken
// effect, or may yet. A Transport gives up when ctx ends.
type Transport interface {
	// Eval runs the script at the node and returns its answer, a list of
	// strings.
	Eval(ctx context.Context, node string, script *Script, keys []string, args []any) (any, error)
	// Info returns what the node's server says about itself, as INFO does.
	Info(ctx context.Context, node string) (string, error)
}

// A wire is a Transport to the one node that its client is connected to. Calls of
// batched scripts that meet share requests, see lane.
type wire struct {
	client   *redis.Client
	run      runner
	timeout  time.Duration
	patience time.Duration // see lane
	crew     crew

	mu     sync.Mutex // of the lanes too
	lanes  map[*Script]*lane
	heard  time.Time // when the node answered last
	closed bool
	wg     sync.WaitGroup
}

// A runner runs a program at the node.
type runner func(ctx context.Context, p program, keys []string, args []any) (any, error)

func newWire(client *redis.Client, timeout, patience time.Duration) *wire {
	return &wire{client: client, run: runsOn(client), timeout: timeout, patience: patience, crew: newCrew(), lanes: map[*Script]*lane{}}
}

// Eval implements Transport, for scripts that are not batched: see callTogether.
func (w *wire) Eval(ctx context.Context, _ string, script *Script, keys []string, args []any) (any, error) {
	start := time.Now()
	v, err := w.run(ctx, script.one, keys, args)
	return v, w.note(ctx, start, err)
}

// runsOn asks by hash and sends the text where the node has not seen it.
func runsOn(client *redis.Client) runner {
	return func(ctx context.Context, p program, keys []string, args []any) (any, error) {
		v, err := client.EvalSha(ctx, p.sha, keys, args...).Result()
		if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
			return client.Eval(ctx, p.text, keys, args...).Result()
		}
		return v, err
	}
}

// lane returns the lane of the script.
func (w *wire) lane(script *Script) *lane {
	w.mu.Lock()
	defer w.mu.Unlock()
	l := w.lanes[script]
	if l == nil {
		l = &lane{wire: w, script: script}
		w.lanes[script] = l
	}
	return l
}

// Info implements Transport.
func (w *wire) Info(ctx context.Context, _ string) (string, error) {
	start := time.Now()
	text, err := w.client.Info(ctx).Result()
	return text, w.note(ctx, start, err)
}

// Close ends what is under way or waits, and closes the connections.
func (w *wire) Close() error {
	w.mu.Lock()
	first := !w.closed
	w.closed = true
	for _, l := range w.lanes {
		l.refuse(redis.ErrClosed)
	}
	w.mu.Unlock()
	if first {
		close(w.crew.over)
	}
	err := w.client.Close()
	w.wg.Wait()
	return err
}

// newTransport returns what carries requests to the node at u.
func newTransport(cfg Config, u nodeURL) Transport {
	if cfg.Transport != nil {
		return cfg.Transport
	}
	return newWire(newClient(cfg, u), cfg.Timeout, cfg.TTL/4)
}
