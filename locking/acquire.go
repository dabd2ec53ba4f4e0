package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
)

// Acquire tries to get the lease from l until it is granted, the tries of policy are
// used up, or ctx ends. It stops at once when a further try cannot help: the tick is
// done, superseded or unvouched; the local clock is ahead of the store's; or the request
// is invalid.
//
// The first try for a plain lock is Direct. Tries after one that found another holder
// are Waiting.
//
// The error is that of the last try, so it matches the sentinel that says why. If ctx
// ended first, its error is joined.
func Acquire(ctx context.Context, l Locker, req Request, policy Retry) (Lease, error) {
	policy = policy.WithDefaults()
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	req.Direct = req.Direct || req.Tick.IsZero() && !req.Waiting
	for tries := 1; ; tries++ {
		begun := time.Now()
		lease, err := l.TryAcquire(ctx, req)
		if err == nil {
			return lease, nil
		}
		if final(err, req) || tries == policy.Tries {
			return nil, retry.Ended(ctx, afterTries(tries, err))
		}
		if !retry.Sleep(ctx, policy.pause(tries, time.Since(begun), err)) {
			return nil, retry.Ended(ctx, err)
		}
		req.Direct, req.Waiting = false, !errors.Is(err, ErrNoQuorum) && !errors.Is(err, ErrTooSlow) && !errors.Is(err, ErrRefused)
	}
}

// final reports whether trying again cannot help.
func final(err error, req Request) bool {
	refused, ok := errors.AsType[*AcquireError](err)
	if !ok {
		return true // no attempt was made: the request is wrong
	}
	switch reason := refused.Reason; {
	case errors.Is(reason, ErrUnvouched):
		return !req.Tick.IsZero() // the nodes may grant a plain lock once they vouch again
	default:
		return errors.Is(reason, ErrDone) || errors.Is(reason, ErrSuperseded) || errors.Is(reason, ErrFuture)
	}
}

func afterTries(tries int, err error) error {
	if tries == 1 {
		return err
	}
	return fmt.Errorf("after %d tries: %w", tries, err)
}

// AcquireOrExtend extends held while it is still the caller's. Otherwise it acquires
// the lock again, with a new and larger token. A caller that gets another lease than
// held must start over, since others may have worked meanwhile. AcquireOrExtend never
// ends up with both leases: it keeps trying to extend held while too few nodes answer
// to tell whether it is lost. If held is nil, it acquires.
//
// Req must ask for what held was granted for: the same lock, tick, stream and Beside. A
// lost plain lock is released first, so its remains do not block the new request.
func AcquireOrExtend(ctx context.Context, l Locker, held Lease, req Request, policy Retry) (Lease, error) {
	if held == nil {
		return Acquire(ctx, l, req, policy)
	}
	if what := difference(held.Claim(), req); what != "" {
		return nil, fmt.Errorf("extending the lease of %q to a request for another %s: ask for what the lease was granted for", held.Claim().Name, what)
	}
	policy = policy.WithDefaults()
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	for tries := 1; ; tries++ {
		begun := time.Now()
		err := held.Extend(ctx)
		switch {
		case err == nil:
			return held, nil
		case errors.Is(err, ErrLeaseLost):
			if req.Tick.IsZero() {
				_ = held.Release(ctx, nil) // the error only repeats that it is lost
			}
			return Acquire(ctx, l, req, policy)
		case tries == policy.Tries:
			return nil, retry.Ended(ctx, afterTries(tries, err))
		}
		if !retry.Sleep(ctx, policy.pause(tries, time.Since(begun), err)) {
			return nil, retry.Ended(ctx, err)
		}
	}
}

// difference names what req asks for that differs from the claim, "" for nothing.
func difference(have Claim, req Request) string {
	switch {
	case have.Name != req.Name:
		return fmt.Sprintf("lock, %q", req.Name)
	case !have.Tick.Equal(req.Tick):
		return fmt.Sprintf("tick, %s", tickText(req.Tick))
	case (Request{Stream: have.Stream}).InStream() != req.InStream():
		return fmt.Sprintf("stream, %q", req.InStream())
	case have.Beside != req.Beside:
		return fmt.Sprintf("request, beside others: %t", req.Beside)
	}
	return ""
}

func tickText(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return stamp(t)
}

// Do acquires the named lock, runs work, extends the lease until work has returned, and
// releases it. It waits for the lock as [Acquire] does, with the defaults of [Retry],
// [Request] and [KeepConfig]. To set these, call Acquire and [Keep].
//
// The context of work ends before the lease does, see [Keep]. Writes should carry
// claim.Token, so a resource can refuse a holder that was paused for too long.
//
// Do returns the error of work, joined with that of Release, which is nil if the lease
// was held until the end.
func Do(ctx context.Context, l Locker, name string, work func(ctx context.Context, claim Claim) error) (err error) {
	lease, err := Acquire(ctx, l, Request{Name: name}, Retry{})
	if err != nil {
		return err
	}
	k := Keep(ctx, lease, KeepConfig{})
	defer func() {
		k.Stop()
		err = errors.Join(err, lease.Release(context.WithoutCancel(ctx), nil))
	}()
	return k.Do(func(ctx context.Context) error { return work(ctx, lease.Claim()) })
}

// Defaults of a Retry.
const (
	DefaultTries    = 32
	DefaultMinPause = 20 * time.Millisecond
	DefaultMaxPause = 250 * time.Millisecond
)

// A Retry says how often Acquire tries, and how long it pauses in between. The zero
// value means the defaults.
type Retry struct {
	// Tries bounds the attempts. Default: DefaultTries. Negative: no bound but the
	// context.
	Tries int
	// Min and Max bound the pauses. Each pause is random between Min and a limit, so
	// competitors do not keep meeting. The limit doubles with each try, up to Max, but
	// is at least four times as long as the last try took. Default: DefaultMinPause and
	// DefaultMaxPause; if only one is set, the other is adjusted to it.
	Min, Max time.Duration
}

// WithDefaults returns a copy of r whose unset fields hold their defaults.
func (r Retry) WithDefaults() Retry {
	r.Tries = cmp.Or(r.Tries, DefaultTries)
	if r.Min == 0 {
		r.Min = DefaultMinPause
		if r.Max > 0 {
			r.Min = min(r.Min, r.Max)
		}
	}
	r.Max = cmp.Or(r.Max, max(DefaultMaxPause, r.Min))
	return r
}

// Validate reports what is wrong with r, whose defaults must be filled in.
func (r Retry) Validate() error {
	if r.Min <= 0 || r.Max < r.Min {
		return fmt.Errorf("retrying a lock: pauses from %v to %v: use positive durations, the smaller one first", r.Min, r.Max)
	}
	return nil
}

// slowFactor bounds a pause by so many times the duration of the try before it.
const slowFactor = 4

// pause returns how long to wait after the tries made so far. The last one took this
// long and failed with err. If err says that the holder's lease ends soon, the pause
// lasts until then plus a random time, so waiting callers do not all try at once.
func (r Retry) pause(tries int, took time.Duration, err error) time.Duration {
	limit := r.Min
	for i := 0; i < tries && limit < r.Max; i++ {
		limit = min(2*limit, r.Max)
	}
	limit = max(limit, slowFactor*took)
	pause := r.Min + rand.N(limit-r.Min+1)
	if refused, ok := errors.AsType[*AcquireError](err); ok {
		if left := time.Until(refused.Until); left > 0 && left < r.Max {
			pause = max(pause, left+rand.N(limit))
		}
	}
	return pause
}

// A Group is several leases that are useful only together. Keep accepts it.
type Group struct {
	mu     sync.Mutex
	leases []Lease // sorted by name; they grow while the group is acquired
}

// Leases returns the leases, sorted by name.
func (g *Group) Leases() []Lease {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.leases)
}

// Deadline is the end of the lease that ends first.
func (g *Group) Deadline() time.Time {
	leases := g.Leases()
	end := leases[0].Deadline()
	for _, l := range leases[1:] {
		if d := l.Deadline(); d.Before(end) {
			end = d
		}
	}
	return end
}

// Extend extends all leases at once. It returns the joined errors of those that were
// not extended; they match ErrLeaseLost if one lease is lost.
func (g *Group) Extend(ctx context.Context) error {
	leases := g.Leases()
	errs := make([]error, len(leases))
	var wg sync.WaitGroup
	for i, l := range leases {
		wg.Go(func() { errs[i] = l.Extend(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Release releases all leases, last one first, and keeps note with each. It returns all
// errors, joined.
func (g *Group) Release(ctx context.Context, note []byte) error {
	return g.endAll(func(l Lease) error { return l.Release(ctx, note) })
}

// Void gives all claims back unused, last one first, under the conditions of
// Lease.Void. It returns all errors, joined.
func (g *Group) Void(ctx context.Context) error {
	return g.endAll(func(l Lease) error { return l.Void(ctx) })
}

func (g *Group) endAll(end func(Lease) error) error {
	var errs []error
	for _, l := range slices.Backward(g.Leases()) {
		errs = append(errs, end(l))
	}
	return errors.Join(errs...)
}

// AcquireAll acquires several locks or none. It acquires them sorted by name, so two
// callers that want the same locks cannot deadlock. Retry applies to each lock. Leases
// already won are kept alive meanwhile. If one lock cannot be had, or a lease is lost
// meanwhile, AcquireAll gives all back and returns that error.
func AcquireAll(ctx context.Context, l Locker, reqs []Request, retry Retry) (*Group, error) {
	reqs = slices.SortedFunc(slices.Values(reqs), func(a, b Request) int { return cmp.Compare(a.Name, b.Name) })
	if err := checkGroup(reqs); err != nil {
		return nil, err
	}
	g := &Group{}
	if err := g.acquire(ctx, l, reqs, retry); err != nil {
		return nil, errors.Join(err, g.giveBack(ctx))
	}
	return g, nil
}

func checkGroup(sorted []Request) error {
	if len(sorted) == 0 {
		return errors.New("acquiring several locks: none are named")
	}
	for i, req := range sorted {
		if i > 0 && sorted[i-1].Name == req.Name {
			return fmt.Errorf("acquiring several locks: %q is named twice", req.Name)
		}
		if req.TTL != 0 && req.TTL < time.Millisecond {
			return fmt.Errorf("acquiring several locks: %q has ttl %v: use a millisecond or more, or none for the default", req.Name, req.TTL)
		}
	}
	return nil
}

func (g *Group) add(l Lease) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.leases = append(g.leases, l)
}

// acquire acquires the locks one after the other.
func (g *Group) acquire(ctx context.Context, l Locker, reqs []Request, retry Retry) error {
	first, err := Acquire(ctx, l, reqs[0], retry)
	if err != nil {
		return err
	}
	g.add(first)
	k := Keep(ctx, g, KeepConfig{Every: shortest(reqs) / 3})
	defer k.Stop()
	for _, req := range reqs[1:] {
		lease, err := Acquire(k.Context(), l, req, retry)
		if err == nil {
			g.add(lease)
		}
		if lost := context.Cause(k.Context()); errors.Is(lost, ErrLeaseLost) {
			return fmt.Errorf("waiting for %s: an earlier lock of the group was lost: %w", req.Name, lost)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shortest is the smallest TTL requested, 0 if none is.
func shortest(reqs []Request) (least time.Duration) {
	for _, req := range reqs {
		if least == 0 || req.TTL > 0 && req.TTL < least {
			least = req.TTL
		}
	}
	return least
}

// giveBackTimeout bounds giving one lease back.
const giveBackTimeout = 2 * time.Second

// giveBack voids the leases, even if ctx has ended.
func (g *Group) giveBack(ctx context.Context) error {
	return g.endAll(func(l Lease) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
		defer cancel()
		return l.Void(ctx)
	})
}
