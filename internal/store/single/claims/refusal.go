package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// storeName names the store in errors.
const storeName = "store"

// errOtherIncarnation is why a claim whose transaction was not answered does not count.
var errOtherIncarnation = fmt.Errorf("%w: it has begun another incarnation since the claim", kv.ErrUnavailable)

func toSecond(at time.Time) string { return at.UTC().Truncate(time.Second).Format(time.RFC3339) }

// refused returns the error of a try whose claim a rule refuses, see acquireError. An incarnation that no
// replica had noticed is noted.
func (t *try) refused(ctx context.Context, v view, a protocol.Answer, fence uint64) error {
	if v.newIncarnation {
		_, _, _ = t.locker.commit(ctx, v, kv.Txn{}) // else the next request notes it
	}
	return t.locker.acquireError(t.req, v, a, fence)
}

// reasons are those of refusals that need no further words.
var reasons = map[protocol.Code]error{
	protocol.Done: locking.ErrDone, protocol.Later: locking.ErrSuperseded, protocol.Claimed: locking.ErrClaimed, protocol.Busy: locking.ErrTaken,
}

// acquireError is a rule's answer to a request for a claim, with the reason that redlock gives
// for that of a single node. COMMIT has refused a token right above the fence; with 0 another
// rule has answered.
func (l *Locker) acquireError(req locking.Request, v view, a protocol.Answer, fence uint64) *locking.AcquireError {
	e := &locking.AcquireError{
		Reason: cmp.Or(reasons[a.Code], kv.ErrUnavailable), Name: req.Name, Holder: a.Claim.Note, HolderToken: locking.Token(a.Claim.Token),
	}
	n, why := l.node(v), ""
	floor := time.UnixMilli(n.Floor).UTC().Format(time.RFC3339Nano)
	switch a.Code {
	case protocol.Abstain:
		if !req.Tick.IsZero() {
			e.Reason = locking.ErrUnvouched
		}
		why = "it may have lost its memory and grants only ticks after " + floor
	case protocol.Future:
		e.Reason, why = locking.ErrFuture, "the tick lies too far ahead of its clock"
		if fence > 0 {
			from := protocol.TimeOf(fence + 1).Add(-time.Duration(n.Grace/2) * time.Millisecond)
			e.Reason, why = locking.ErrNodeAhead, fmt.Sprintf("its tokens go up to %s, and its clock shows %s: it was ahead, or has been set back. Tokens only grow, so it grants no claim of this name before %s; if the clock is right now, `quorate store init --ahead` makes it go on from its tokens",
				toSecond(protocol.TimeOf(fence)), toSecond(v.stamp.Now), toSecond(from.Add(time.Second)))
		}
		if n.Now <= n.Floor {
			why = "it may have lost its memory and grants nothing before " + floor
		}
	}
	if why != "" {
		e.Nodes = []locking.NodeError{{Node: storeName, Err: errors.New(why)}}
	}
	if a.Claim.Tick != 0 {
		e.HolderTick = time.UnixMilli(a.Claim.Tick).UTC()
	}
	if a.Left > 0 {
		e.Until = time.Now().Add(time.Duration(a.Left) * time.Millisecond)
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
		if c.Open() && c.Owner != t.ruleTry.Owner && c.Token > of.Token {
			of = c
		}
	}
	if of.Owner == "" {
		return t.unanswered(err)
	}
	return t.locker.acquireError(t.req, v, protocol.Answer{Code: protocol.Busy, Claim: of, Left: t.locker.cfg.Timeout.Milliseconds()}, 0)
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
	found := w.t.locker.acquireError(w.t.req, v, protocol.Look(v.state(), w.t.locker.node(v), w.t.ruleTry), 0)
	if slices.Contains([]error{locking.ErrDone, locking.ErrClaimed, locking.ErrTaken}, found.Reason) {
		return found
	}
	return nil
}
