package redlock

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
)

// wires is a network to embedded nodes, by name.
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

func (w *wires) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
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

// pass reports whether one more message goes out, and whether it is the last.
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

func (c *cutWires) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
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
	loses func(node string, script *client.Script) bool
}

func (w lossyWires) Eval(ctx context.Context, node string, script *client.Script, keys []string, args []any) (any, error) {
	if w.loses(node, script) {
		return nil, errCutOff
	}
	return w.wires.Eval(ctx, node, script, keys, args)
}
