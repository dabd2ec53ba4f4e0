package scheduler

import (
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// rankFor is the place of this replica for a tick of the job.
func (e *engine) rankFor(j *job.Job, at time.Time) (rank, crowd int, lead time.Duration) {
	live := e.live()
	if len(live) == 0 {
		return 0, 0, 0
	}
	return roster.Place(j.StoredAs(), at, e.cfg.Replica, j.Labels, live)
}

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// turn is how long a replica with this rank waits before it looks, and then before it
// claims.
func (e *engine) turn(rank int, room time.Duration) (look, claim time.Duration) {
	claim = attempt.Stagger(e.cfg.Stagger, rank, room)
	if _, can := e.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = attempt.Stagger(e.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}
