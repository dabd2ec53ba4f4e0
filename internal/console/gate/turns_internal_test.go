package gate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Logins from networks without failures are checked first, and of one network one at
// a time: many guesses from many addresses hold nobody up for long.
func TestTurnsAreFair(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := turns{failures: &failures{}}
		var served []string
		release := make(chan struct{})
		ask := func(network string) {
			go func() {
				if !queue.take(t.Context(), network, "ann") {
					served = append(served, network+" refused")
					return
				}
				<-release
				served = append(served, network)
				queue.give(network, "ann")
			}()
			synctest.Wait()
		}
		for n := range 64 {
			ask(fmt.Sprint("guesser", n%16))
		}
		ask("person")
		for range 65 {
			release <- struct{}{}
			synctest.Wait()
		}
		if at := slices.Index(served, "person"); at < 0 || at > 24 { // 16 networks, and what is checked meanwhile
			t.Errorf("the person came as number %d of %d: %v", at+1, len(served), served)
		}
		if len(queue.waiting)+len(queue.checking) > 0 {
			t.Errorf("left: %d wait, %d are checked", len(queue.waiting), len(queue.checking))
		}
	})
}

// Where too many wait those are refused who would be called last; who gives up leaves
// its place.
func TestTurnsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := turns{failures: &failures{}}
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		answers := map[string]int{}
		ask := func(network string) {
			go func() {
				answer := fmt.Sprint(network, queue.take(ctx, network, "ann"))
				mu.Lock()
				defer mu.Unlock()
				answers[answer]++
			}()
			synctest.Wait()
		}
		for range 2 * mostWaiting {
			ask("guesser")
		}
		ask("person")
		if answers["guesserfalse"] < mostWaiting-1 || answers["personfalse"] > 0 {
			t.Errorf("answered %v", answers)
		}
		cancel()
		synctest.Wait()
		if len(queue.waiting) > 0 {
			t.Errorf("%d wait of those who gave up", len(queue.waiting))
		}
	})
}

// Checks of a user who is being guessed come one at a time, with pauses, and hold up nobody else.
func TestGuessesAreSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := turns{failures: &failures{}}
		for range failsByUser {
			queue.failures.add("198.51.100.1", "ann", time.Now())
		}
		began := time.Now()
		for n := range 5 {
			network := fmt.Sprint("guesser", n)
			if !queue.take(t.Context(), network, "ann") {
				t.Fatal("refused")
			}
			queue.give(network, "ann")
			if !queue.take(t.Context(), "elsewhere", "bob") {
				t.Fatal("another user is refused")
			}
			queue.give("elsewhere", "bob")
		}
		if took := time.Since(began); took != 4*guessPause {
			t.Errorf("five checks took %v", took)
		}
	})
}
