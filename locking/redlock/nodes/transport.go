package nodes

import (
	"context"

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

// A wire is a Transport to the one node that its client is connected to.
type wire struct{ client *redis.Client }

// Eval implements Transport. It asks by hash and sends the text where the node
// has not seen it.
func (w wire) Eval(ctx context.Context, _ string, script *Script, keys []string, args []any) (any, error) {
	v, err := w.client.EvalSha(ctx, script.sha, keys, args...).Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		return w.client.Eval(ctx, script.text, keys, args...).Result()
	}
	return v, err
}

// Info implements Transport.
func (w wire) Info(ctx context.Context, _ string) (string, error) {
	return w.client.Info(ctx).Result()
}

// Close closes the connections.
func (w wire) Close() error { return w.client.Close() }

// newTransport returns what carries requests to the node at u.
func newTransport(cfg Config, u nodeURL) Transport {
	if cfg.Transport != nil {
		return cfg.Transport
	}
	return wire{client: newClient(cfg, u)}
}
