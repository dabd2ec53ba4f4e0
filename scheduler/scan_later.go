package scheduler

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
)

// Scans without waiting ticks only record what nobody ran, and are not urgent. For each job
// one replica reads the ledger, the first in rank of those with the same jobs. Each starts
// at its own time, after all live replicas could record their ticks themselves, and reads
// one job after the other. The pace depends on the number of replicas: together they ask
// the nodes as often as one would. A replica leaves the other jobs to their first replicas,
// and checks them again for a while, in case one dies before its turn.

const (
	laterPace    = 5 * time.Millisecond // between two jobs, for all replicas together
	recheckPause = time.Minute          // until the other replicas' jobs are checked again
)

// scanLater runs the scans that fall to this replica.
func (e *engine) scanLater(ctx context.Context, batch []*scan) {
	own := job.Weight("scan", time.Time{}, e.cfg.Replica) % uint64(e.cfg.Window)
	if !attempt.Sleep(ctx, e.cfg.Window+time.Duration(own)) {
		return
	}
	spread(batch)
	// By then every live replica has scanned its own jobs.
	until := time.Now().Add(recheckPause + 2*laterPace*time.Duration(len(batch)))
	for {
		failed, others := e.scanOwn(ctx, batch)
		if time.Now().After(until) {
			others = nil
		}
		pause := recheckPause
		if len(failed) > 0 {
			pause = lastRescan
		}
		if batch = append(failed, others...); len(batch) == 0 || !attempt.Sleep(ctx, pause) {
			return
		}
	}
}

// scanOwn runs the scans for which this replica is first. It returns those of them to be
// repeated, and those that fall to others.
func (e *engine) scanOwn(ctx context.Context, batch []*scan) (failed, others []*scan) {
	peers := roster.SameJobs(e.cfg.Replica, e.live())
	var own []*scan
	for _, s := range batch {
		if job.Rank(s.job.StoredAs(), time.Time{}, e.cfg.Replica, roster.Fitting(peers, s.job.Labels)) > 0 {
			others = append(others, s)
		} else {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return nil, others
	}
	known := e.versions(ctx)
	for _, s := range own {
		if s.published = known; !e.carryOut(ctx, s) {
			failed = append(failed, s)
		}
		if !attempt.Sleep(ctx, laterPace*time.Duration(max(1, len(peers)))) {
			break
		}
	}
	return failed, others
}
