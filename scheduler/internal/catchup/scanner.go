package catchup

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
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
		if !retry.After(ctx, pause) {
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
		if early := time.Duration(i)*pace - time.Since(begun); !retry.After(ctx, max(0, early.Truncate(time.Millisecond))) {
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
	return published{roster.ByKey(known), err}
}

// carryOut reads the ledger and hands the scan back. It returns false if the scan has to be
// repeated.
func (r *Scanner) carryOut(ctx context.Context, s *Scan) bool {
	now := r.Now()
	reading, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	s.find(reading, r.Ledger, now, r.Window)
	if s.Found.Err != nil && s.repeats(now) {
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
