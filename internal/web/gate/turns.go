package gate

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// mostWaiting bounds the logins that wait for a password check.
const mostWaiting = 100

// turns orders password checks. A check takes 0.1 s or more of a processor, so few run in
// parallel, and only one per network: a failure is counted before the network's next guess.
// Networks with fewer failed and waiting logins go first, so nobody waits for another
// network's guesses. A user who is being guessed has one check at a time, and guessPause after it.
type turns struct {
	mu       sync.Mutex
	checking []string // networks
	guessed  []string // users with a check, or in the pause after it
	waiting  []*turn  // in order
}

// guessPause is the time between two checks of a user who is being guessed.
const guessPause = 250 * time.Millisecond

// A turn is one waiting login.
type turn struct {
	network string
	guessed string    // the user, if that one is being guessed
	rank    int       // the lower, the sooner
	called  chan bool // receives one value: false if too many others go first
}

// take waits for the turn of a login from a network with so many failed logins; guessed is the user if
// that one is being guessed, else empty. It returns
// false if ctx ends or too many others go first; else the caller must call give.
func (t *turns) take(ctx context.Context, network, guessed string, failed int) bool {
	mine := &turn{network: network, guessed: guessed, rank: failed, called: make(chan bool, 1)}
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
	case may := <-mine.called: // called and ended at once
		return may
	default:
		t.remove(mine)
		return false
	}
}

// give ends a turn.
func (t *turns) give(network, guessed string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.checking, network)
	t.checking = slices.Delete(t.checking, i, i+1)
	if guessed != "" {
		time.AfterFunc(guessPause, func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.guessed = slices.DeleteFunc(t.guessed, func(user string) bool { return user == guessed })
			t.callNext()
		})
	}
	t.callNext()
}

// callNext starts the next checks.
func (t *turns) callNext() {
	for len(t.checking) < max(1, runtime.GOMAXPROCS(0)/2) {
		i := slices.IndexFunc(t.waiting, func(w *turn) bool {
			return !slices.Contains(t.checking, w.network) && (w.guessed == "" || !slices.Contains(t.guessed, w.guessed))
		})
		if i < 0 {
			return
		}
		next := t.waiting[i]
		t.checking = append(t.checking, next.network)
		if next.guessed != "" {
			t.guessed = append(t.guessed, next.guessed)
		}
		t.remove(next).called <- true
	}
}

func (t *turns) remove(w *turn) *turn {
	t.waiting = slices.DeleteFunc(t.waiting, func(o *turn) bool { return o == w })
	return w
}
