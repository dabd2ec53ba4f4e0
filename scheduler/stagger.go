package scheduler

import (
	"math/rand/v2"
	"time"
)

// Identical replicas that ask at the same instant divide the votes, and nobody
// wins. So they start one after the other, in an order that changes with every
// tick, and whoever meets a divided vote waits for a random time.

// stagger is how long a replica waits before its first try. It leaves half of
// the room for retries, however many replicas there are.
func stagger(step time.Duration, rank int, room time.Duration) time.Duration {
	if step <= 0 || room <= 0 {
		return 0
	}
	return min(time.Duration(rank)*step, room/2)
}

// The longest pause before the second try, and before any if tries are quick:
// within a window of seconds, and in one that may stay open for hours. There the
// replica whose run is waited for does not pause, so the others need not hurry.
const (
	firstRetry   = 20 * time.Millisecond
	longestRetry = 250 * time.Millisecond
	longestWait  = 4 * time.Second
)

// slowFactor is how much longer than a try takes the pause after it may be.
const slowFactor = 4

// retryDelay is the pause after so many tries, the last of which took so long:
// random, up to a limit that doubles until it is longest. Where tries are slow the limit is a
// multiple of what they take, or they would go on meeting each other, and the
// more of them there are, the slower they get. It does not aim at the end of
// the lease in the way, where all who wait would meet again.
func retryDelay(tries int, took, longest time.Duration, random func(time.Duration) time.Duration) time.Duration {
	limit := firstRetry
	for range tries - 1 {
		if limit *= 2; limit >= longest {
			limit = longest
			break
		}
	}
	return time.Millisecond + random(max(limit, slowFactor*took))
}

// randomDelay returns a random duration below limit, of whatever tick.
func randomDelay(_ string, _ time.Time, limit time.Duration) time.Duration { return rand.N(limit) }
