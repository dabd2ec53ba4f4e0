package attempt

import (
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// Identical replicas that ask at the same instant split the votes, and no one wins. So they
// start one after the other, in an order that changes with every tick, and wait for a
// random time after a split vote.

// Stagger is how long a replica waits before its first try. It leaves half of the room for
// retries, for any number of replicas.
func Stagger(step time.Duration, rank int, room time.Duration) time.Duration {
	if step <= 0 || room <= 0 {
		return 0
	}
	return min(time.Duration(rank)*step, room/2)
}

// The longest pauses: before the second try, before others within a window of seconds, and
// in a window that may stay open for hours. There the replica with the run does not pause,
// so the others need not hurry.
const (
	firstRetry   = 20 * time.Millisecond
	longestRetry = 250 * time.Millisecond
	longestWait  = 4 * time.Second
)

// slowFactor bounds the pause after a try, as a multiple of its duration.
const slowFactor = 4

// retryDelay is the pause after a number of tries, the last of which took that long. It is
// random, up to a limit that doubles up to longest. If tries are slow, the limit is a
// multiple of their duration: otherwise competitors would keep colliding and slow each
// other down. It does not aim at the end of the blocking lease, where all waiting replicas
// would collide again.
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

// retryDelay is the pause after a number of tries; the last took that long and was refused
// for why. An attempt that may wait for long asks rarely. Many replicas that wait for one
// run, or for a store that does not serve them, together ask as often as one replica would. But
// every attempt uses the last quarter of the window. below yields a duration below a limit.
func (w *window) retryDelay(tries int, took time.Duration, why error, below func(time.Duration) time.Duration) time.Duration {
	longest := longestRetry
	if !w.patient() && !w.caughtUp {
		took = min(took, w.remaining()/4/slowFactor)
	}
	switch {
	case w.patient() || w.caughtUp || w.remaining() > w.cfg.Window:
		longest = longestWait
	case errors.Is(why, locking.ErrTaken), undecided(why):
		crowded := min(time.Duration(max(w.crowd, 1))*longestRetry, longestWait, w.remaining()/4)
		longest = max(longest, crowded)
	}
	return retryDelay(tries, took, longest, below)
}
