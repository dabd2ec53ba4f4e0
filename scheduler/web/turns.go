package web

import (
	"context"
	"runtime"
	"slices"
	"sync"
)

// mostWaiting bounds the logins that wait for their password to be checked.
const mostWaiting = 100

// turns decides whose password is checked next. A check takes a processor a tenth of
// a second or more, so few run at once, and one of each network: its failure counts
// before its next guess is checked. The others wait, those first from whose network
// the fewest logins had failed or were waiting when they came, so that nobody waits for
// all guesses of somebody else.
type turns struct {
	mu       sync.Mutex
	checking []string // networks
	waiting  []*turn  // in the order of their turns
}

// A turn is one that somebody waits for.
type turn struct {
	network string
	rank    int       // the lower, the sooner
	called  chan bool // is told once: true, it may be checked; false, others go first
}

// take waits for the turn of a login from a network, from which so many have failed
// lately. It returns false if ctx ends before, or too many wait that go first; else
// give is to be called.
func (t *turns) take(ctx context.Context, network string, failed int) bool {
	mine := &turn{network: network, rank: failed, called: make(chan bool, 1)}
	t.mu.Lock()
	for _, w := range t.waiting {
		if w.network == network {
			mine.rank++
		}
	}
	t.waiting = append(t.waiting, mine)
	slices.SortStableFunc(t.waiting, func(x, y *turn) int { return x.rank - y.rank })
	t.callNext()
	if len(t.waiting) > mostWaiting {
		t.remove(t.waiting[mostWaiting]).called <- false
	}
	t.mu.Unlock()
	select {
	case may := <-mine.called:
		return may
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case may := <-mine.called: // both at once
		return may
	default:
		t.remove(mine)
		return false
	}
}

// give ends a turn.
func (t *turns) give(network string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.checking, network)
	t.checking = slices.Delete(t.checking, i, i+1)
	t.callNext()
}

// callNext calls those whose turn it is.
func (t *turns) callNext() {
	for len(t.checking) < max(1, runtime.GOMAXPROCS(0)/2) {
		i := slices.IndexFunc(t.waiting, func(w *turn) bool { return !slices.Contains(t.checking, w.network) })
		if i < 0 {
			return
		}
		next := t.waiting[i]
		t.checking = append(t.checking, next.network)
		t.remove(next).called <- true
	}
}

func (t *turns) remove(w *turn) *turn {
	t.waiting = slices.DeleteFunc(t.waiting, func(o *turn) bool { return o == w })
	return w
}
