package scheduler

import (
	"context"
	"slices"
	"time"
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
	own := weight("scan", time.Time{}, e.cfg.Replica) % uint64(e.cfg.Window)
	if !sleep(ctx, e.cfg.Window+time.Duration(own)) {
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
		if batch = append(failed, others...); len(batch) == 0 || !sleep(ctx, pause) {
			return
		}
	}
}

// scanOwn runs the scans for which this replica is first. It returns those of them to be
// repeated, and those that fall to others.
func (e *engine) scanOwn(ctx context.Context, batch []*scan) (failed, others []*scan) {
	peers := sameJobs(e.cfg.Replica, e.live())
	var own []*scan
	for _, s := range batch {
		if Rank(s.job.key(), time.Time{}, e.cfg.Replica, fitting(peers, s.job.Labels)) > 0 {
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
		if !sleep(ctx, laterPace*time.Duration(max(1, len(peers)))) {
			break
		}
	}
	return failed, others
}

// sameJobs returns the replicas that serve the same jobs as self; none if self is not
// listed.
func sameJobs(self string, replicas []Replica) []Replica {
	i := slices.IndexFunc(replicas, func(r Replica) bool { return r.ID == self })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(replicas), func(r Replica) bool { return r.ConfigHash != replicas[i].ConfigHash })
}
