package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// storeName names the store in errors.
const storeName = "store"

// errOtherLife is why a claim whose transaction was not answered does not count.
var errOtherLife = fmt.Errorf("%w: it has begun another life since the claim", kv.ErrUnavailable)

// A refusal is a rule's answer to a request for a claim.
type refusal struct {
	protocol.Answer
	fence uint64 // COMMIT refused a token right above it; 0: LOCK refused the request
}

// reason maps the answer, as redlock does that of a single node.
func (r refusal) reason(plain bool) error {
	switch r.Code {
	case protocol.Done:
		return locking.ErrDone
	case protocol.Later:
		return locking.ErrSuperseded
	case protocol.Claimed:
		return locking.ErrClaimed
	case protocol.Busy:
		return locking.ErrTaken
	case protocol.Abstain:
		if !plain {
			return locking.ErrUnvouched
		}
	case protocol.Future:
		if r.fence > 0 {
			return locking.ErrNodeAhead
		}
		return locking.ErrFuture
	}
	return kv.ErrUnavailable
}

// text explains an answer that names no other claim.
func (r refusal) text(v view, n protocol.Node) string {
	floor := time.UnixMilli(n.Floor).UTC().Format(time.RFC3339Nano)
	switch {
	case r.Code == protocol.Abstain:
		return "it may have lost its memory and grants only ticks after " + floor
	case r.Code == protocol.Future && n.Now <= n.Floor:
		return "it may have lost its memory and grants nothing before " + floor
	case r.Code == protocol.Future && r.fence > 0:
		from := timeOf(r.fence + 1).Add(-time.Duration(n.Grace/2) * time.Millisecond)
		return fmt.Sprintf("its tokens go up to %s, and its clock shows %s: it was ahead, or has been set back. Tokens only grow, so it grants no claim of this name before %s; if the clock is right now, `quorate store init --ahead` makes it go on from its tokens",
			second(timeOf(r.fence)), second(v.stamp.Now), second(from.Add(time.Second)))
	case r.Code == protocol.Future:
		return "the tick lies too far ahead of its clock"
	}
	return ""
}

func second(at time.Time) string { return at.UTC().Truncate(time.Second).Format(time.RFC3339) }

// refused returns the error of a refusal. A life that no replica had noticed is noted.
func (t *try) refused(ctx context.Context, v view, r *refusal) error {
	if v.newLife {
		_, _, _ = t.l.commit(ctx, v, kv.Txn{}) // else the next request notes it
	}
	return t.l.acquireError(t.req, v, *r)
}

func (l *Locker) acquireError(req locking.Request, v view, r refusal) *locking.AcquireError {
	e := &locking.AcquireError{Reason: r.reason(req.Tick.IsZero()), Name: req.Name}
	if text := r.text(v, l.node(v)); text != "" {
		e.Nodes = []locking.NodeError{{Node: storeName, Err: errors.New(text)}}
	}
	e.Holder, e.HolderToken = r.Claim.Note, locking.Token(r.Claim.Token)
	if r.Claim.Tick != 0 {
		e.HolderTick = time.UnixMilli(r.Claim.Tick).UTC()
	}
	if r.Left > 0 {
		e.Until = time.Now().Add(time.Duration(r.Left) * time.Millisecond)
	}
	return e
}

// locked returns the error of a try that a transaction keeps from deciding. While a run is open,
// that transaction is the end of the run: it is held until this is decided, even if its lease has
// expired.
func (t *try) locked(ctx context.Context, err error) error {
	v, readErr := t.read(ctx)
	if readErr != nil {
		return t.unanswered(readErr)
	}
	var of records.Claim
	for _, c := range v.claims.All() {
		if c.Open() && c.Owner != t.Owner && c.Token > of.Token {
			of = c
		}
	}
	if of.Owner == "" {
		return t.unanswered(err)
	}
	return t.l.acquireError(t.req, v, refusal{Answer: protocol.Answer{Code: protocol.Busy, Claim: asRule(of), Left: t.l.cfg.Timeout.Milliseconds()}})
}

// unanswered returns the error of a try that the store has not decided.
func (t *try) unanswered(err error) error {
	e := &locking.AcquireError{Reason: kv.ErrUnavailable, Name: t.req.Name}
	switch {
	case err == nil:
	case errors.Is(err, kv.ErrUnavailable):
		e.Nodes = []locking.NodeError{{Node: storeName, Err: cause(err)}}
	default:
		e.Reason = locking.ErrRefused
		e.Nodes = []locking.NodeError{{Node: storeName, Err: err}}
	}
	return e
}

// cause is err without the words of kv.ErrUnavailable, which the reason has.
func cause(err error) error {
	if _, why, cut := strings.Cut(err.Error(), kv.ErrUnavailable.Error()+": "); cut {
		return errors.New(why)
	}
	return err
}

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
