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

// A Group is several leases that are worth something only together. It may be
// handed to Hold and Keep.
type Group struct {
	leases []Lease // by name
}

// Leases returns the leases, sorted by name.
func (g *Group) Leases() []Lease { return slices.Clone(g.leases) }

// Deadline is the end of the lease that ends first.
func (g *Group) Deadline() time.Time {
	end := g.leases[0].Deadline()
	for _, l := range g.leases[1:] {
		if d := l.Deadline(); d.Before(end) {
			end = d
		}
	}
	return end
}

// Extend extends all leases at once. It returns the errors of those that were
// not extended, joined: ErrLeaseLost as soon as one is lost.
func (g *Group) Extend(ctx context.Context) error {
	errs := make([]error, len(g.leases))
	var wg sync.WaitGroup
	for i, l := range g.leases {
		wg.Go(func() { errs[i] = l.Extend(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Release releases all leases, the last one first, keeping note with each. It
// returns all errors, joined.
func (g *Group) Release(ctx context.Context, note []byte) error {
	return g.backwards(func(l Lease) error { return l.Release(ctx, note) })
}

// Void gives all claims back unused, the last one first, under the same
// conditions as Lease.Void. It returns all errors, joined.
func (g *Group) Void(ctx context.Context) error {
	return g.backwards(func(l Lease) error { return l.Void(ctx) })
}

func (g *Group) backwards(end func(Lease) error) error {
	var errs []error
	for _, l := range slices.Backward(g.leases) {
		errs = append(errs, end(l))
	}
	return errors.Join(errs...)
}

// AcquireAll acquires several locks, or none: by name, so that two who want the
// same ones never wait for each other, each with the tries that retry allows.
// While it waits for one it keeps those before alive. Where one is not to be
// had, or an earlier one is lost meanwhile, those already won are given back,
// and the error is that of the one.
func AcquireAll(ctx context.Context, l Locker, reqs []Request, retry Retry) (*Group, error) {
	reqs = slices.SortedFunc(slices.Values(reqs), func(a, b Request) int { return cmp.Compare(a.Name, b.Name) })
	if err := checkGroup(reqs); err != nil {
		return nil, err
	}
	won := &winnings{}
	if err := won.gather(ctx, l, reqs, retry); err != nil {
		return nil, errors.Join(err, won.giveBack(ctx))
	}
	return won.group(), nil
}

func checkGroup(sorted []Request) error {
	if len(sorted) == 0 {
		return errors.New("acquiring several locks: none are named")
	}
	for i, req := range sorted {
		if i > 0 && sorted[i-1].Name == req.Name {
			return fmt.Errorf("acquiring several locks: %q is named twice", req.Name)
		}
		if req.TTL < time.Millisecond {
			return fmt.Errorf("acquiring several locks: %q has ttl %v: use a millisecond or more", req.Name, req.TTL)
		}
	}
	return nil
}

// winnings are a Group that grows.
type winnings struct {
	mu     sync.Mutex
	leases []Lease
}

func (w *winnings) add(l Lease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.leases = append(w.leases, l)
}

func (w *winnings) group() *Group {
	w.mu.Lock()
	defer w.mu.Unlock()
	return &Group{leases: slices.Clone(w.leases)}
}

// Deadline implements Tenure.
func (w *winnings) Deadline() time.Time { return w.group().Deadline() }

// Extend implements Tenure.
func (w *winnings) Extend(ctx context.Context) error { return w.group().Extend(ctx) }

// gather acquires what is asked for, one after the other.
func (w *winnings) gather(ctx context.Context, l Locker, reqs []Request, retry Retry) error {
	first, err := Acquire(ctx, l, reqs[0], retry)
	if err != nil {
		return err
	}
	w.add(first)
	k := Keep(ctx, w, HoldConfig{Every: shortest(reqs) / 3})
	defer k.Stop()
	for _, req := range reqs[1:] {
		lease, err := Acquire(k.Context(), l, req, retry)
		if err == nil {
			w.add(lease)
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

func shortest(reqs []Request) time.Duration {
	least := reqs[0].TTL
	for _, req := range reqs[1:] {
		least = min(least, req.TTL)
	}
	return least
}

// giveBackTimeout bounds giving one lease back.
const giveBackTimeout = 2 * time.Second

// giveBack voids what was won, whatever has become of ctx.
func (w *winnings) giveBack(ctx context.Context) error {
	return w.group().backwards(func(l Lease) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
		defer cancel()
		return l.Void(ctx)
	})
}
