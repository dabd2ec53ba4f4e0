package faults

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// A book has the grants of one name, and their violations of promises.
type book struct {
	mu         sync.Mutex
	top        locking.Token
	tokens     map[locking.Token]locking.Claim
	ticks      map[int64]locking.Claim // that were not voided
	live       map[locking.Token]locking.Lease
	list       []locking.Claim
	violations []string
}

func newBook() *book {
	return &book{
		tokens: map[locking.Token]locking.Claim{},
		ticks:  map[int64]locking.Claim{},
		live:   map[locking.Token]locking.Lease{},
	}
}

// highest is the largest token granted so far. A claim that is asked for from
// now on must carry a larger one.
func (b *book) highest() locking.Token {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.top
}

// try asks for a claim and enters it, if it is granted. A void claim is given
// back at once, as if the work had never begun.
func (b *book) try(t *testing.T, l locking.Locker, req locking.Request, void bool) (locking.Lease, error) {
	t.Helper()
	below := b.highest()
	lease, err := l.TryAcquire(t.Context(), req)
	switch {
	case err == nil:
		b.granted(lease, below, void)
	case !typed(err) && t.Context().Err() == nil:
		b.violate("an error without its reason: %v", err)
	}
	if err == nil && void {
		b.over(lease)
		_ = lease.Void(t.Context()) // the rest is done in the background
	}
	return lease, err
}

func (b *book) granted(lease locking.Lease, below locking.Token, void bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, now := lease.Claim(), time.Now()
	if c.Token <= below {
		b.violations = append(b.violations, fmt.Sprintf("token %d asked for after %d was granted", c.Token, below))
	}
	if o, twice := b.tokens[c.Token]; twice {
		b.violations = append(b.violations, fmt.Sprintf("one token twice: %+v and %+v", o, c))
	}
	if o, twice := b.ticks[c.Tick.UnixMilli()]; twice && !void && !c.Tick.IsZero() {
		b.violations = append(b.violations, fmt.Sprintf("one tick twice, with tokens %d and %d", o.Token, c.Token))
	}
	// This goroutine may have slept since the claim was granted.
	for _, o := range b.live {
		if !locking.Expired(now, lease.Deadline()) && !locking.Expired(time.Now(), o.Deadline()) {
			b.violations = append(b.violations, fmt.Sprintf("two leases at once: %+v and %+v", o.Claim(), c))
		}
	}
	b.top = max(b.top, c.Token)
	b.tokens[c.Token], b.live[c.Token] = c, lease
	b.list = append(b.list, c)
	if !void {
		b.ticks[c.Tick.UnixMilli()] = c
	}
}

// over ends the work of a lease; call it before the release.
func (b *book) over(lease locking.Lease) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.live, lease.Claim().Token)
}

func (b *book) violate(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.violations = append(b.violations, fmt.Sprintf(format, args...))
}

// claims returns the grants, in the order of their arrival.
func (b *book) claims() []locking.Claim {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clip(b.list)
}

// lastTick returns the latest tick that was granted and not voided; the zero time
// if there is none.
func (b *book) lastTick() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	var last time.Time
	for _, c := range b.ticks {
		if c.Tick.After(last) {
			last = c.Tick
		}
	}
	return last
}

func (b *book) broken() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clip(b.violations)
}

// check fails the test with the first violations.
func (b *book) check(t *testing.T) {
	t.Helper()
	for i, v := range b.broken() {
		if i == 10 {
			t.Errorf("and %d more", len(b.broken())-i)
			return
		}
		t.Error(v)
	}
}
