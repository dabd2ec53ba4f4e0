package scheduler

import (
	"context"
	"slices"
	"time"
)

// Scans that no tick waits for only account for what nobody ran, and nobody is in
// a hurry to know. For each job one replica reads the ledger, the first in rank of
// those that serve the same jobs. Each begins at a moment of its own, when all who
// lived have had the time to account for it themselves, and reads one job after the
// other, the slower the more replicas there are: all of them together ask the nodes
// as often as one alone would. What another one is first for is left to it; this
// replica comes back to it for a while, in case the other one dies before its turn.

const (
	laterPace = 5 * time.Millisecond // between two jobs, of all replicas together
	comeBack  = time.Minute          // to what others are first for
)

// scanLater carries out the scans that are this replica's to do.
func (e *engine) scanLater(ctx context.Context, batch []*scan) {
	own := weight("scan", time.Time{}, e.cfg.Replica) % uint64(e.cfg.Window)
	if !sleep(ctx, e.cfg.Window+time.Duration(own)) {
		return
	}
	spread(batch)
	// By then every replica that lives has done what it is first for.
	enough := time.Now().Add(comeBack + 2*laterPace*time.Duration(len(batch)))
	for {
		failed, others := e.scanOwn(ctx, batch)
		if time.Now().After(enough) {
			others = nil
		}
		pause := comeBack
		if len(failed) > 0 {
			pause = lastRescan
		}
		if batch = append(failed, others...); len(batch) == 0 || !sleep(ctx, pause) {
			return
		}
	}
}

// scanOwn carries out the scans that this replica is first for, and returns those
// of them to be repeated, and those that others are first for.
func (e *engine) scanOwn(ctx context.Context, batch []*scan) (failed, others []*scan) {
	peers := alike(e.cfg.Replica, e.live())
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

// alike returns the replicas among those that serve the same jobs as self does;
// none if self is not among them.
func alike(self string, replicas []Replica) []Replica {
	i := slices.IndexFunc(replicas, func(r Replica) bool { return r.ID == self })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(replicas), func(r Replica) bool { return r.ConfigHash != replicas[i].ConfigHash })
}
