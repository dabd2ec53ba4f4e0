package scheduler

import (
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A starter starts attempts.
type starter struct {
	cfg      Config
	jobs     *jobTable
	live     func() []Replica // the replicas believed to be alive
	deps     *attempt.Deps
	contexts attempt.Contexts
	working  *sync.WaitGroup
	// Where attempts report to.
	inbox *inbox
	done  <-chan struct{} // closed when the loop has ended
}

// start begins the attempt for the next tick of the lane, in its own goroutine.
func (s *starter) start(j *jobState, l *lane, t job.Tick, now time.Time) *ticket {
	rank, crowd, lead := s.rankFor(j.Job, t.At)
	if s.cfg.MaxRunning > 0 {
		rank += s.jobs.above(j.Job, everyGroup) // otherwise the first tick would take the places
	}
	b := attempt.NewBrief(j.Job.Backfilling(t), t, rank, crowd, s.contexts)
	own := &ticket{Brief: b, owner: j, lane: l, watches: t.Trigger == ledger.ByRerun}
	how := attempt.Start{Until: t.Until}
	how.Delay, how.HeadStart = s.turn(rank, t.Until.Sub(now))
	if (t.Late(now) || t.Trigger == ledger.ByCatchUp) && t.Latest.After(now) {
		how.CaughtUp, own.catchesUp, how.Until = true, t.Trigger != ledger.ByRerun, t.Latest
		how.Delay, how.HeadStart = s.turn(rank, t.Latest.Sub(now))
		how.Delay += j.CatchUpPause(t)
	}
	how.Delay = max(how.Delay, min(lead, how.Until.Sub(now)/2))
	how.Earlier = l.earlierTicks(j.Job, t)
	how.First = rank == 0 && !how.CaughtUp && (crowd > 0 || s.cfg.Roster == nil)
	how.Free = how.Delay <= 0 && !how.CaughtUp && j.inTheWay(b, false) == nil
	s.working.Go(attempt.New(s.deps, b, reporter{own, s.inbox, s.done}, how).Run)
	return own
}

// rankFor is the place of this replica for a tick of the job.
func (s *starter) rankFor(j *job.Job, at time.Time) (rank, crowd int, lead time.Duration) {
	live := s.live()
	if len(live) == 0 {
		return 0, 0, 0
	}
	return roster.Place(j.StoredAs(), at, s.cfg.Replica, j.Labels, live)
}

// lookTogether is the rank from which on replicas look at the same time.
const lookTogether = 5

// turn is how long a replica with this rank waits before it looks, and then before it
// claims.
func (s *starter) turn(rank int, room time.Duration) (look, claim time.Duration) {
	claim = attempt.Stagger(s.cfg.Stagger, rank, room)
	if _, can := s.cfg.Locker.(locking.Watcher); !can {
		return claim, 0
	}
	look = attempt.Stagger(s.cfg.Stagger, min(rank, lookTogether), room)
	return look, claim - look
}
