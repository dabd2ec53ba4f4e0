package claims

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
)

// Release implements locking.Lease: rule N5, repeated until the store acknowledges it, the
// deadline has passed, or ctx has ended. A store that refuses may accept it later, unless the
// note is too large, and a commit that has lost may win. Once the store has decided, later calls return the same. If the deadline
// passed first, the error matches ErrLeaseLost, and ErrNoQuorum or ErrRefused.
func (l *lease) Release(ctx context.Context, note []byte) error {
	err := l.finish(ctx, note, false)
	l.trim(ctx)
	return err
}

// trim bounds the entries of the job, after about one of a hundred runs. It is a matter of
// chance, so that no job is left out.
func (l *lease) trim(ctx context.Context) {
	if trim := l.t.l.cfg.Trim; trim != nil && !l.claim.Tick.IsZero() && rand.N(100) == 0 {
		_ = trim(ctx, l.claim.Name) // or after a later run
	}
}

// HandOver implements locking.Lease: rule N5 with handover, repeated as by Release.
func (l *lease) HandOver(ctx context.Context, note []byte) error { return l.finish(ctx, note, true) }

func (l *lease) finish(ctx context.Context, note []byte, handover bool) error {
	if err := l.takeTurn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer l.passTurn()
	if l.ended {
		return l.result
	}
	for wait := time.Duration(0); ; wait = l.t.l.cfg.longer(wait) {
		code, err := l.finishOnce(ctx, note, handover)
		switch {
		case errors.Is(err, kv.ErrTooLarge):
			return l.failed("releasing", err)
		case code == protocol.OK && !l.isOver():
			l.ended = true
			return nil
		case code == protocol.OK, code == protocol.RanOut:
			return l.endedWith(locking.ErrExpired)
		case code == protocol.Late:
			return l.endedWith(locking.ErrLeaseLost)
		case err != nil && l.isOver():
			return l.failed("releasing", fmt.Errorf("%w, and %w", locking.ErrLeaseLost, err))
		case !retry.After(ctx, retry.Before(l.Deadline(), wait)):
			return retry.Ended(ctx, l.failed("releasing", cmp.Or(err, kv.ErrUnavailable)))
		}
	}
}

// endedWith marks the lease as ended, and returns the result.
func (l *lease) endedWith(result error) error {
	l.ended, l.result = true, result
	return l.failed("releasing", result)
}

// finishOnce applies FINISH to what is known or read, and commits the result. It returns the
// answer, or none if the transaction lost.
func (l *lease) finishOnce(ctx context.Context, note []byte, handover bool) (protocol.Code, error) {
	t := l.t
	v, compared, err := l.beforeEnd(ctx)
	if err != nil {
		return "", kv.Failed("reading it", err)
	}
	if code := v.endOf(t.Owner); code != "" {
		return code, nil // by an earlier request, or in a transaction of its own: the entry stays
	}
	n, s := t.l.node(v), v.state()
	s, _, _ = l.join(v, n, s)
	s, a := protocol.Finish(s, n, t.Try, protocol.End{Handover: handover})
	if v.versions[records.ClaimsKey(t.req.Name)] == 0 && a.Code == protocol.Late {
		return a.Code, nil // the name was forgotten: leave nothing of it
	}
	after := v.after(s)
	for i, e := range after.Earlier {
		if e.Owner == t.Owner && e.Open() {
			after.Earlier[i].Ended, after.Earlier[i].Handed = string(a.Code), handover
		}
	}
	txn := kv.Txn{Put: []kv.Write{records.Put(records.ClaimsKey(t.req.Name), after)}}
	v.compare(&txn, append(compared, records.ClaimsKey(t.req.Name))...)
	if v.claims.Of(t.Owner).Owner == "" {
		v.compareLeases(&txn) // they did not exclude it
	}
	if !t.Plain {
		txn.Put = append(txn.Put, t.entry(l.of, kindOf(a.Code), note))
	}
	o, _, err := t.l.commit(ctx, v, txn)
	switch {
	case err != nil:
		return "", kv.Failed("writing it", err)
	case !o.Won:
		return "", nil
	}
	return a.Code, nil
}

// entry is the key of the run's entry, if it has one. The entry tells that an unanswered
// transaction has ended the claim.
func (l *lease) entry() []kv.Key {
	if l.t.Plain {
		return nil
	}
	return []kv.Key{records.EntryKey(l.t.req.Name, records.Entry{Stream: l.of.Stream, Tick: l.of.Tick, Token: l.of.Token})}
}

// Void implements locking.Lease: rule N6. An error means that the store has not answered; it
// is tried again in the background.
func (l *lease) Void(ctx context.Context) error {
	if err := l.takeTurn(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	defer l.passTurn()
	if l.ended {
		return nil
	}
	l.ended, l.result = true, locking.ErrLeaseLost
	if err := l.t.void(ctx); err != nil {
		l.t.l.cleaner.Repeat(l.t.voidAgain)
		return l.failed("voiding", err)
	}
	return nil
}
