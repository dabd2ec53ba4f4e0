package claims

import (
	"cmp"
	"context"
	"errors"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
)

// A watch asks for the state of one tick.
type watch struct {
	t *try // for what it asks; it claims nothing
	// invalid: the store could not grant the request, so it is not asked.
	invalid bool
}

// Watch implements locking.Watcher.
func (l *Locker) Watch(req locking.Request, _ uint64) locking.Watch {
	req.TTL = cmp.Or(req.TTL, l.cfg.TTL)
	return watch{t: newTry(l, req, ""), invalid: l.cfg.check(req) != nil}
}

// Look implements locking.Watch: rule N10. It takes one request, or two if others run beside
// the job's own.
func (w watch) Look(ctx context.Context) error {
	if asks := !w.invalid && ctx.Err() == nil; !asks {
		return nil
	}
	v, err := w.t.read(ctx)
	switch {
	case errors.Is(err, kv.ErrUnavailable):
		return &locking.AcquireError{
			Reason: locking.ErrSilent, Name: w.t.req.Name, Nodes: []locking.NodeError{{Node: storeName, Err: cause(err)}},
		}
	case err != nil:
		return nil //nolint:nilerr // a try tells what the store refuses
	}
	a := protocol.Look(v.state(), w.t.l.node(v), w.t.Try)
	found := w.t.l.acquireError(w.t.req, v, refusal{Answer: a})
	for _, reason := range []error{locking.ErrDone, locking.ErrClaimed, locking.ErrTaken} {
		if errors.Is(found.Reason, reason) {
			return found
		}
	}
	return nil
}
