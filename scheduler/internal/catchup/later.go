package catchup

import (
	"context"
	"time"

	"github.com/quorate/quorate/internal/retry"
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

// ScanLater runs the scans that fall to this replica.
func (r *Scanner) ScanLater(ctx context.Context, batch []*Scan) {
	own := job.Weight("scan", time.Time{}, r.Replica) % uint64(r.Window)
	if !retry.After(ctx, r.Window+time.Duration(own)) {
		return
	}
	spread(batch)
	// By then every live replica has scanned its own jobs.
	until := time.Now().Add(recheckPause + 2*laterPace*time.Duration(len(batch)))
	for {
		failed, others := r.scanOwn(ctx, batch)
		if time.Now().After(until) {
			others = nil
		}
		pause := recheckPause
		if len(failed) > 0 {
			pause = lastRescan
		}
		if batch = append(failed, others...); len(batch) == 0 || !retry.After(ctx, pause) {
			return
		}
	}
}

// scanOwn runs the scans for which this replica is first. It returns those of them to be
// repeated, and those that fall to others.
func (r *Scanner) scanOwn(ctx context.Context, batch []*Scan) (failed, others []*Scan) {
	peers := roster.SameJobs(r.Replica, r.Live())
	var own []*Scan
	for _, s := range batch {
		if job.Rank(s.Job.StoredAs(), time.Time{}, r.Replica, roster.Eligible(peers, s.Job.Labels)) > 0 {
			others = append(others, s)
		} else {
			own = append(own, s)
		}
	}
	if len(own) == 0 {
		return nil, others
	}
	known := r.versions(ctx)
	for _, s := range own {
		if s.published = known; !r.carryOut(ctx, s) {
			failed = append(failed, s)
		}
		if !retry.After(ctx, laterPace*time.Duration(max(1, len(peers)))) {
			break
		}
	}
	return failed, others
}
