package scheduler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Before a job that catches up claims its first tick after a start or a sleep, its past is
// scanned: once a later tick is claimed, earlier ones never can be. Jobs without catch-up
// do not wait, see scan_later.go.

const (
	scanners    = 8                    // concurrent reads of the ledger
	scanPace    = 5 * time.Millisecond // between two
	longestPace = 5 * time.Second      // for all, while the scanners keep up
	scanTimeout = 5 * time.Second      // of one
	listTimeout = 30 * time.Second     // for the published versions of all jobs
	firstRescan = 100 * time.Millisecond
	lastRescan  = 4 * time.Second
)

// A scan finds the ticks of a job's past that nobody ran.
type scan struct {
	past
	owner  *jobState
	urgent bool   // ticks of the job wait for it
	order  uint64 // spreads jobs in a fixed random order
	found  *finding

	onlyRerun bool // it only searches for a run that was interrupted
}

// A finding is the result of a scan's last try; most scans wait, without one.
type finding struct {
	undecided
	err error
}

// scanPast queues scans of a past of the job, if it may run here. The schedule waits for
// them if anything may be caught up or rerun.
func (e *engine) scanPast(j *jobState, p past) {
	if !job.Fits(e.cfg.Labels, j.Labels) {
		return
	}
	e.unread.add(j, p.before)
	rerun, catchUp := j.OnCrash == CrashRerun, j.CatchUp.Does()
	if rerun || catchUp {
		j.lane("").scans++
		e.scans = append(e.scans, &scan{past: p, owner: j, urgent: true})
	}
	if !catchUp {
		e.scans = append(e.scans, &scan{past: p, owner: j})
	}
}

// startScans starts the queued scans, urgent ones first. None starts before the replica
// knows the pauses, since found ticks may run at once. Scans of one update form a batch
// with its own scanners, which reads the published versions once.
func (e *engine) startScans() {
	if len(e.scans) == 0 || e.updating || !e.actsKnown {
		return
	}
	batch := e.scans
	e.scans = nil
	later := slices.DeleteFunc(slices.Clone(batch), func(s *scan) bool { return s.urgent })
	urgent := slices.DeleteFunc(batch, func(s *scan) bool { return !s.urgent })
	if len(urgent) > 0 {
		e.attempts.Go(func() { e.scanAll(e.stops.Claims, urgent) })
	}
	if len(later) > 0 {
		e.attempts.Go(func() { e.scanLater(e.stops.Claims, later) })
	}
}

// scanAll repeats scans until the ledger has answered them all or nothing can be caught up
// any more.
func (e *engine) scanAll(ctx context.Context, urgent []*scan) {
	spread(urgent)
	pace := min(scanPace, longestPace/time.Duration(len(urgent)))
	for pause := firstRescan; len(urgent) > 0; pause = min(2*pause, lastRescan) {
		urgent = e.scanOnce(ctx, urgent, pace)
		if !attempt.Sleep(ctx, pause) {
			return
		}
	}
}

// spread sorts scans into a fixed random order.
func spread(batch []*scan) {
	for _, s := range batch {
		s.order = job.Weight(s.job.StoredAs(), time.Time{}, "scan")
	}
	slices.SortFunc(batch, func(a, b *scan) int { return cmp.Compare(a.order, b.order) })
}

// scanOnce tries each scan once and returns those to be repeated.
func (e *engine) scanOnce(ctx context.Context, batch []*scan, pace time.Duration) []*scan {
	feed, failed := make(chan *scan), make(chan *scan, len(batch))
	var known published
	if slices.ContainsFunc(batch, (*scan).accounts) {
		known = e.versions(ctx)
	}
	var working sync.WaitGroup
	for range min(scanners, len(batch)) {
		working.Go(func() {
			for s := range feed {
				s.published = known
				if !e.carryOut(ctx, s) {
					failed <- s
				}
			}
		})
	}
	begun := time.Now()
	for i, s := range batch {
		// A timer is late by more than the pace of a long batch.
		if early := time.Duration(i)*pace - time.Since(begun); !attempt.Sleep(ctx, max(0, early.Truncate(time.Millisecond))) {
			break
		}
		feed <- s
	}
	close(feed)
	working.Wait()
	close(failed)
	var rest []*scan
	for s := range failed {
		rest = append(rest, s)
	}
	return rest
}

// versions reads the published versions, for all scans of a batch.
func (e *engine) versions(ctx context.Context) published {
	if e.cfg.Roster == nil {
		return published{}
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	known, err := e.cfg.Roster.Jobs(ctx)
	return published{roster.ByKey(known), err}
}

// carryOut reads the ledger and reports to the loop. It returns false if the scan has to be
// repeated.
func (e *engine) carryOut(ctx context.Context, s *scan) bool {
	now := e.clock.wall()
	reading, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	found, err := s.lookUp(reading, e.cfg.Ledger, now, e.cfg.Window)
	s.found = &finding{found, err}
	if err != nil && s.repeats(now) {
		return false
	}
	select {
	case e.scanned <- s:
	case <-ctx.Done():
	}
	return true
}

// lookUp finds the ticks to be tried again; in an urgent scan, only those that can be.
func (s *scan) lookUp(ctx context.Context, ledger ledger.Store, now time.Time, window time.Duration) (u undecided, err error) {
	if s.accounts() {
		if u, err = s.findUndecided(ctx, ledger, window); err != nil {
			return undecided{}, err
		}
	}
	if s.urgent {
		u.rerun, err = s.findRerun(ctx, ledger, now, window)
	}
	return u, err
}

// accounts reports whether the scan searches for all ticks that nobody ran.
func (s *scan) accounts() bool { return !s.onlyRerun && (!s.urgent || s.job.CatchUp.Does()) }

// repeats reports whether to repeat a failed scan: the nodes may come back, and ticks wait
// no longer than catch-up allows.
func (s *scan) repeats(now time.Time) bool {
	return roster.Passing(s.found.err) && (!s.urgent || now.Before(s.before.Add(s.job.CatchUp.WithDefaults().Window)))
}

// applyScan applies the result of a scan.
func (e *engine) applyScan(s *scan) {
	j := s.owner
	l := j.lane("")
	if s.urgent {
		l.scans--
	}
	if !e.serves(j) {
		return
	}
	switch {
	case s.found.err != nil:
		e.cfg.Observer(Event{Kind: EventUnread, Entry: ledger.Entry{Job: j.Name}, Err: s.found.err})
		if s.urgent && s.accounts() && roster.Passing(s.found.err) {
			e.scans = append(e.scans, &scan{past: s.past, owner: j}) // too late to catch up, not to record
			e.startScans()
		}
	case s.accounts():
		e.unread.drop(j, s.before.Equal)
	}
	if !s.found.first.IsZero() {
		e.cfg.Observer(Event{Kind: EventOverslept, Entry: ledger.Entry{Job: j.Name}, Since: s.found.first, Before: s.found.before})
	}
	if !s.found.rerun.IsZero() {
		l.insert(s.found.rerun)
	}
	for _, t := range s.found.gone {
		e.decided(j.Job, t, t.Missed(ledger.CodeUnknown))
	}
	for _, t := range s.found.ticks {
		l.overtake(t)
		l.insert(t)
	}
	e.proceed(j, l)
}

// serves reports whether the job was not removed.
func (e *engine) serves(j *jobState) bool { return j.index < len(e.jobs) && e.jobs[j.index] == j }
