package locking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

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
