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

// The longest pause before the second try, and before any if tries are quick.
const (
	firstRetry   = 20 * time.Millisecond
	longestRetry = 250 * time.Millisecond
)

// slowFactor is how much longer than a try takes the pause after it may be.
const slowFactor = 4

// retryDelay is the pause after so many tries, the last of which took so long:
// random, up to a limit that doubles. Where tries are slow the limit is a
// multiple of what they take, or they would go on meeting each other, and the
// more of them there are, the slower they get. It does not aim at the end of
// the lease in the way, where all who wait would meet again.
func retryDelay(tries int, took time.Duration, random func(time.Duration) time.Duration) time.Duration {
	limit := firstRetry
	for range tries - 1 {
		if limit *= 2; limit >= longestRetry {
			limit = longestRetry
			break
		}
	}
	return time.Millisecond + random(max(limit, slowFactor*took))
}

// randomDelay returns a random duration below limit, of whatever tick.
func randomDelay(_ string, _ time.Time, limit time.Duration) time.Duration { return rand.N(limit) }
