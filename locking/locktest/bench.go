package locktest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// tries bounds the retries of a check.
const tries = 40

// lockName is the lock of the checks.
const lockName = "kit"

// bench is one new cluster under test.
type bench struct {
	testing.TB
	Backend
	connect func(holder string) locking.Locker
	lockers []locking.Locker
	base    time.Time
}

func newBench(t testing.TB, b Backend) *bench {
	t.Helper()
	// Ticks are in the past, since none may be claimed before its time.
	base := time.Now().Add(-time.Minute).Truncate(time.Second)
	return &bench{TB: t, Backend: b, connect: b.New(t), base: base}
}

// replica is one client of the cluster.
type replica struct {
	*bench
	name string
	locking.Locker
}

func (b *bench) replica(name string) replica {
	l := b.connect(name)
	b.lockers = append(b.lockers, l)
	return replica{bench: b, name: name, Locker: l}
}

// A Settler is a Locker whose calls may return before all nodes have received them. The
// checks call Settle before they look for an effect.
type Settler interface {
	// Settle returns when no node has outstanding requests of calls that returned.
	Settle()
}

func (b *bench) settle() {
	for _, l := range b.lockers {
		if s, ok := l.(Settler); ok {
			s.Settle()
		}
	}
}

// tick is a request for the n-th tick, with a long lease.
func (b *bench) tick(n int) locking.Request {
	return locking.Request{
		Name: lockName, Tick: b.base.Add(time.Duration(n) * time.Second), TTL: b.Long,
		Note: []byte(`{"v":1}`),
	}
}

// plain is a request for a plain lock, with a long lease.
func (b *bench) plain() locking.Request { return locking.Request{Name: lockName, TTL: b.Long} }

// short is the request with a lease that a check lets expire.
func (b *bench) short(req locking.Request) locking.Request {
	req.TTL = b.Short
	return req
}

func again(req locking.Request) locking.Request {
	req.Mode = locking.AtLeastOnce
	return req
}

// try makes one attempt and checks what holds for every result. A backend that did not
// answer in time, for example on a busy machine, is asked again.
func (r replica) try(req locking.Request) (locking.Lease, error) {
	return r.tryUntil(r.Context(), req)
}

func (r replica) tryUntil(ctx context.Context, req locking.Request) (locking.Lease, error) {
	req.Holder = r.name
	lease, err := r.TryAcquire(ctx, req)
	for n := 0; n < 8 && ctx.Err() == nil && (errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrTooSlow) || r.Old && n == 0 && errors.Is(err, locking.ErrTaken)); n++ {
		r.Wait(r.Short / 4)
		lease, err = r.TryAcquire(ctx, req)
	}
	switch {
	case err == nil && lease == nil:
		return nil, errors.New("TryAcquire returned neither a lease nor an error")
	case err != nil && lease != nil:
		return nil, errors.New("TryAcquire returned a lease together with the error: " + err.Error())
	}
	return lease, err
}

// steady is a Locker that retries as try does.
type steady struct{ replica }

func (s steady) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	return s.tryUntil(ctx, req)
}

// within bounds retries to well before a long lease ends.
func (b *bench) within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(b.Context(), b.Long/2)
}

// acquire makes one attempt, which must be granted.
func (r replica) acquire(req locking.Request) locking.Lease {
	r.Helper()
	lease, err := r.try(req)
	if err != nil {
		r.Fatalf("%s: TryAcquire(%s) = %v, want a lease", r.name, describe(req), err)
	}
	return lease
}

// refused makes one attempt, which must be refused for one of the reasons.
func (r replica) refused(req locking.Request, reasons ...error) *locking.AcquireError {
	r.Helper()
	r.settle()
	lease, err := r.try(req)
	if err == nil {
		r.Fatalf("%s: TryAcquire(%s) granted token %d, want %v", r.name, describe(req), lease.Claim().Token, reasons)
	}
	var why *locking.AcquireError
	if !errors.As(err, &why) {
		r.Fatalf("%s: TryAcquire(%s) = %T %v, want an *AcquireError", r.name, describe(req), err, err)
	}
	if why.Name != req.Name {
		r.Errorf("%s: AcquireError.Name = %q, want %q", r.name, why.Name, req.Name)
	}
	if !isOne(err, reasons) {
		r.Fatalf("%s: TryAcquire(%s) = %v, want %v", r.name, describe(req), err, reasons)
	}
	return why
}

// eventually retries until the request is granted: a blocking lease must expire. It gives
// up long before a long lease could.
func (r replica) eventually(req locking.Request) locking.Lease {
	r.Helper()
	var err error
	for range tries {
		var lease locking.Lease
		if lease, err = r.try(req); err == nil {
			return lease
		}
		if final(err) {
			break
		}
		r.Wait(r.Short / 4)
	}
	r.Fatalf("%s: TryAcquire(%s) = %v, want a lease in the end", r.name, describe(req), err)
	return nil
}

// final reports whether trying again cannot help.
func final(err error) bool {
	for _, reason := range []error{
		locking.ErrClaimed, locking.ErrDone, locking.ErrSuperseded,
		locking.ErrUnvouched, locking.ErrFuture, locking.ErrRefused,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// answered repeats a call that may be repeated, and that a busy store has not answered.
func answered(call func() error) (err error) {
	for range 4 {
		if err = call(); !errors.Is(err, locking.ErrNoQuorum) && !errors.Is(err, locking.ErrSilent) {
			break
		}
	}
	return err
}

// release ends the lease, which must still be held.
func (r replica) release(l locking.Lease) {
	r.Helper()
	if err := answered(func() error { return l.Release(r.Context(), []byte(`{"v":1}`)) }); err != nil {
		r.Fatalf("%s: Release = %v", r.name, err)
	}
}

// handOver hands the claim over.
func (r replica) handOver(l locking.Lease) {
	r.Helper()
	if err := l.HandOver(r.Context(), []byte(`{"v":1}`)); err != nil {
		r.Fatalf("%s: HandOver = %v", r.name, err)
	}
}

// void gives the claim back.
func (r replica) void(l locking.Lease) {
	r.Helper()
	if err := answered(func() error { return l.Void(r.Context()) }); err != nil {
		r.Fatalf("%s: Void = %v", r.name, err)
	}
}

// lost reports an err that is not ErrLeaseLost.
func (b *bench) lost(what string, err error) {
	b.Helper()
	if !errors.Is(err, locking.ErrLeaseLost) {
		b.Errorf("%s = %v, want ErrLeaseLost", what, err)
	}
}

// extend extends, and retries if the backend did not answer in time.
func (b *bench) extend(t locking.Tenure) error {
	err := t.Extend(b.Context())
	for n := 0; n < 3 && (errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrTooSlow)); n++ {
		b.Wait(b.Short / 4)
		err = t.Extend(b.Context())
	}
	return err
}

// cannotExtend reports a lease that can still be extended.
func (b *bench) cannotExtend(what string, t locking.Tenure) {
	b.Helper()
	b.lost(what, b.extend(t))
}

// larger reports a claim whose token is not larger than that of an earlier one.
func (b *bench) larger(earlier, later locking.Lease) {
	b.Helper()
	if e, l := earlier.Claim().Token, later.Claim().Token; l <= e {
		b.Errorf("token %d was granted after %d, want a larger one", l, e)
	}
}

func describe(req locking.Request) string {
	if req.Tick.IsZero() {
		return req.Name
	}
	return req.Name + " at " + req.Tick.UTC().Format(time.RFC3339)
}
