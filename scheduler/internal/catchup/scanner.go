package catchup

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

const (
	scanners    = 8                    // concurrent reads of the ledger
	scanPace    = 5 * time.Millisecond // between two
	longestPace = 5 * time.Second      // for all, while the scanners keep up
	scanTimeout = 5 * time.Second      // of one
	listTimeout = 30 * time.Second     // for the published versions of all jobs
	firstRescan = 100 * time.Millisecond
	lastRescan  = 4 * time.Second
)

// A Scanner carries out scans. Its methods may be called from any goroutine.
type Scanner struct {
	Replica string
	Ledger  ledger.Store
	Roster  roster.Roster // may be nil
	Window  time.Duration
	Now     func() time.Time
	Live    func() []roster.Replica
	Done    chan *Scan // takes scans that are over
}

// ScanAll repeats scans until the ledger has answered them all or nothing can be caught up
// any more.
func (r *Scanner) ScanAll(ctx context.Context, urgent []*Scan) {
	spread(urgent)
	pace := min(scanPace, longestPace/time.Duration(len(urgent)))
	for pause := firstRescan; len(urgent) > 0; pause = min(2*pause, lastRescan) {
		urgent = r.scanOnce(ctx, urgent, pace)
		if !retry.Sleep(ctx, pause) {
			return
		}
	}
}

// spread sorts scans into a fixed random order.
func spread(batch []*Scan) {
	for _, s := range batch {
		s.order = job.Weight(s.Job.StoredAs(), time.Time{}, "scan")
	}
	slices.SortFunc(batch, func(a, b *Scan) int { return cmp.Compare(a.order, b.order) })
}

// scanOnce tries each scan once and returns those to be repeated.
func (r *Scanner) scanOnce(ctx context.Context, batch []*Scan, pace time.Duration) []*Scan {
	feed, failed := make(chan *Scan), make(chan *Scan, len(batch))
	var known published
	if slices.ContainsFunc(batch, (*Scan).Accounts) {
		known = r.versions(ctx)
	}
	var working sync.WaitGroup
	for range min(scanners, len(batch)) {
		working.Go(func() {
			for s := range feed {
				s.published = known
				if !r.carryOut(ctx, s) {
					failed <- s
				}
			}
		})
	}
	begun := time.Now()
	for i, s := range batch {
		// A timer is late by more than the pace of a long batch.
		if early := time.Duration(i)*pace - time.Since(begun); !retry.Sleep(ctx, max(0, early.Truncate(time.Millisecond))) {
			break
		}
		feed <- s
	}
	close(feed)
	working.Wait()
	close(failed)
	var rest []*Scan
	for s := range failed {
		rest = append(rest, s)
	}
	return rest
}

// versions reads the published versions, for all scans of a batch.
func (r *Scanner) versions(ctx context.Context) published {
	if r.Roster == nil {
		return published{}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	known, err := r.Roster.Jobs(ctx)
	return published{served.ByKey(known), err}
}

// carryOut reads the ledger and hands the scan back. It returns false if the scan has to be
// repeated.
func (r *Scanner) carryOut(ctx context.Context, s *Scan) bool {
	now := r.Now()
	reading, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	var f Finding // the ticks to be tried again; in an urgent scan, only those that can be
	if s.Accounts() {
		f.Undecided, f.Err = s.findUndecided(reading, r.Ledger, r.Window)
	}
	if s.Urgent && f.Err == nil {
		f.Rerun, f.Err = s.findRerun(reading, r.Ledger, now, r.Window)
	}
	s.Found = &f
	if f.Err != nil && s.repeats(now) {
		return false
	}
	select {
	case r.Done <- s:
	case <-ctx.Done():
	}
	return true
}

// FindRerun returns the tick of the job's last run before the given time if it must be
// rerun.
func (r *Scanner) FindRerun(ctx context.Context, j *job.Job, before time.Time) (job.Tick, error) {
	return Span{Job: j, Before: before}.findRerun(ctx, r.Ledger, r.Now(), r.Window)
}

// A Scan finds the undecided ticks of a span.
type Scan struct {
	Span
	Owner     any    // whose past it is; only the caller knows the type
	Urgent    bool   // ticks of the job wait for it
	OnlyRerun bool   // it only searches for a run that was interrupted
	order     uint64 // spreads jobs in a fixed random order

	Found *Finding // the result of the last try; most scans wait, without one
}

// Accounts reports whether the scan searches for all ticks that nobody ran.
func (s *Scan) Accounts() bool { return !s.OnlyRerun && (!s.Urgent || s.Job.CatchesUp()) }

// repeats reports whether to repeat a failed scan: the nodes may come back, and ticks wait
// no longer than catch-up allows.
func (s *Scan) repeats(now time.Time) bool {
	return presence.Passing(s.Found.Err) && (!s.Urgent || now.Before(s.Before.Add(s.Job.CatchUp.Window)))
}

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
	if !retry.Sleep(ctx, r.Window+time.Duration(own)) {
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
		if batch = append(failed, others...); len(batch) == 0 || !retry.Sleep(ctx, pause) {
			return
		}
	}
}

// scanOwn runs the scans for which this replica is first. It returns those of them to be
// repeated, and those that fall to others.
func (r *Scanner) scanOwn(ctx context.Context, batch []*Scan) (failed, others []*Scan) {
	peers := presence.SameJobs(r.Replica, r.Live())
	var own []*Scan
	for _, s := range batch {
		if job.Rank(s.Job.StoredAs(), time.Time{}, r.Replica, presence.Eligible(peers, s.Job.Labels)) > 0 {
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
		if !retry.Sleep(ctx, laterPace*time.Duration(max(1, len(peers)))) {
			break
		}
	}
	return failed, others
}
