package locking_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
)

// A diary is a Memory that records the calls of its leases.
type diary struct {
	locktest.Memory

	mu     sync.Mutex
	lines  []string
	extend func(name string) error // if set, instead of the lease's own
}

// refuseToExtend makes extensions of the named leases fail, all without a name.
func (d *diary) refuseToExtend(err error, names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.extend = func(name string) error {
		if len(names) == 0 || slices.Contains(names, name) {
			return err
		}
		return nil
	}
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) TryAcquire(ctx context.Context, req locking.Request) (locking.Lease, error) {
	lease, err := d.Memory.TryAcquire(ctx, req)
	if err != nil {
		return nil, err
	}
	d.note("acquire " + req.Name)
	return diaryLease{lease, d}, nil
}

type diaryLease struct {
	locking.Lease
	d *diary
}

func (l diaryLease) Extend(ctx context.Context) error {
	l.d.mu.Lock()
	extend := l.d.extend
	l.d.mu.Unlock()
	if extend != nil {
		return extend(l.Claim().Name)
	}
	return l.Lease.Extend(ctx)
}

func (l diaryLease) Release(ctx context.Context, note []byte) error {
	l.d.note("release " + l.Claim().Name)
	return l.Lease.Release(ctx, note)
}

func (l diaryLease) Void(ctx context.Context) error {
	l.d.note("void " + l.Claim().Name)
	return l.Lease.Void(ctx)
}

func (d *diary) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(d.lines, lines) {
		t.Errorf("done: %q, want %q", d.lines, lines)
	}
}

// asking for these locks, under leases of one TTL each.
func asking(names ...string) []locking.Request {
	var reqs []locking.Request
	for _, name := range names {
		reqs = append(reqs, locking.Request{Name: name, TTL: ttl})
	}
	return reqs
}

func TestAcquireAllGoesByName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, reqs := new(diary), asking("c", "a", "b")
		g, err := locking.AcquireAll(t.Context(), d, reqs, locking.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Release(t.Context(), nil); err != nil {
			t.Errorf("Release = %v", err)
		}
		d.want(t, "acquire a", "acquire b", "acquire c", "release c", "release b", "release a")
		if reqs[0].Name != "c" {
			t.Error("the caller's list was sorted")
		}
	})
}

func TestAcquireAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		if _, err := d.Memory.TryAcquire(t.Context(), asking("c")[0]); err != nil {
			t.Fatal(err)
		}
		_, err := locking.AcquireAll(t.Context(), d, asking("c", "a", "b"), locking.Retry{Tries: 3})
		if refused, ok := errors.AsType[*locking.AcquireError](err); !ok || refused.Name != "c" || !errors.Is(err, locking.ErrTaken) {
			t.Errorf("AcquireAll = %v, want %v for c", err, locking.ErrTaken)
		}
		d.want(t, "acquire a", "acquire b", "void b", "void a")
	})
}

// Acquired locks are given back although the caller's context has ended.
func TestAcquireAllEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		if _, err := d.Memory.TryAcquire(t.Context(), asking("b")[0]); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := locking.AcquireAll(ctx, d, asking("a", "b"), locking.Retry{Tries: -1})
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, locking.ErrTaken) {
			t.Errorf("AcquireAll = %v, want %v and %v", err, context.DeadlineExceeded, locking.ErrTaken)
		}
		d.want(t, "acquire a", "void a")
		if _, err := d.TryAcquire(t.Context(), asking("a")[0]); err != nil {
			t.Errorf("the lock that was given back: %v", err)
		}
	})
}

// Waiting for the last lock takes three TTLs of the first.
func TestAcquireAllKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		long := locking.Request{Name: "c", TTL: 3 * ttl}
		if _, err := d.Memory.TryAcquire(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		g, err := locking.AcquireAll(t.Context(), d, asking("a", "b", "c"), locking.Retry{Tries: -1})
		if err != nil {
			t.Fatal(err)
		}
		if left := locking.Left(g); left < ttl/2 {
			t.Errorf("%v left of the group, want more than half of %v", left, ttl)
		}
		d.want(t, "acquire a", "acquire b", "acquire c")
		n := len(d.lines)
		time.Sleep(2 * ttl)
		if locking.Left(g) != 0 || len(d.lines) != n {
			t.Error("the group is kept though its caller does not")
		}
	})
}

// A group whose first lock is lost while it waits for the last is none.
func TestAcquireAllLosesOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		d.refuseToExtend(locking.ErrLeaseLost, "a")
		long := locking.Request{Name: "c", TTL: time.Hour}
		if _, err := d.Memory.TryAcquire(t.Context(), long); err != nil {
			t.Fatal(err)
		}
		g, err := locking.AcquireAll(t.Context(), d, asking("a", "b", "c"), locking.Retry{Tries: -1})
		if g != nil || !errors.Is(err, locking.ErrLeaseLost) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "waiting for c") {
			t.Errorf("AcquireAll = %v, %v, want %v while waiting for c", g, err, locking.ErrLeaseLost)
		}
		d.want(t, "acquire a", "acquire b", "void b", "void a")
	})
}

func TestAcquireAllRefusesOddLists(t *testing.T) {
	t.Parallel()
	for name, reqs := range map[string][]locking.Request{
		"none":    nil,
		"twice":   asking("a", "b", "a"),
		"no time": {{Name: "a", TTL: ttl}, {Name: "b", TTL: -1}},
	} {
		d := new(diary)
		if g, err := locking.AcquireAll(t.Context(), d, reqs, locking.Retry{}); err == nil {
			t.Errorf("%s: AcquireAll = %v, want an error", name, g)
		}
		d.want(t)
	}
}

func TestGroupTellsAllErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		g, err := locking.AcquireAll(t.Context(), d, asking("a", "b", "c"), locking.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Leases()[2].Extend(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(ttl) // now they have run out, and a is another's
		if _, err := d.Memory.TryAcquire(t.Context(), asking("a")[0]); err != nil {
			t.Fatal(err)
		}
		if err := g.Extend(t.Context()); !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Extend = %v, want %v", err, locking.ErrLeaseLost)
		}
		time.Sleep(ttl) // b and c were extended by that
		err = g.Release(t.Context(), nil)
		if !errors.Is(err, locking.ErrLeaseLost) || !errors.Is(err, locking.ErrExpired) {
			t.Errorf("Release = %v, want %v and %v", err, locking.ErrLeaseLost, locking.ErrExpired)
		}
		d.want(t, "acquire a", "acquire b", "acquire c", "release c", "release b", "release a")
	})
}

func TestGroupEndsWithItsFirstLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reqs := asking("a", "b", "c")
		reqs[1].TTL = time.Second
		g, err := locking.AcquireAll(t.Context(), new(diary), reqs, locking.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		if left := locking.Left(g); left != time.Second {
			t.Errorf("%v left, want those of the shortest lease, 1s", left)
		}
	})
}

func TestHoldKeepsAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := new(diary)
		g, err := locking.AcquireAll(t.Context(), d, asking("a", "b"), locking.Retry{})
		if err != nil {
			t.Fatal(err)
		}
		err = holdWith(t.Context(), g, locking.KeepConfig{Every: every, Margin: margin}, func(ctx context.Context) error {
			time.Sleep(3 * ttl)
			if _, err := d.TryAcquire(ctx, asking("b")[0]); !errors.Is(err, locking.ErrTaken) {
				t.Errorf("TryAcquire of a lock of the group = %v, want %v", err, locking.ErrTaken)
			}
			d.refuseToExtend(locking.ErrNoQuorum)
			<-ctx.Done()
			return context.Cause(ctx)
		})
		if !errors.Is(err, locking.ErrLeaseLost) {
			t.Errorf("Hold = %v, want %v", err, locking.ErrLeaseLost)
		}
		if left := locking.Left(g); left != margin {
			t.Errorf("work ended %v before the group did, want %v", left, margin)
		}
	})
}
