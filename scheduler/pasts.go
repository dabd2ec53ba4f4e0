package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// Before a job that catches up claims its first tick after a start or a sleep, its past is
// scanned: once a later tick is claimed, earlier ones never can be. Jobs without catch-up
// do not wait.

// pasts are the spans of ticks that the ledger has to be asked about.
type pasts struct {
	labels  map[string]string // of this replica
	scanner catchup.Scanner
	queued  []*catchup.Scan // not started yet
	halfway bool            // more jobs follow in the same update
	// The ends of the spans that nobody has read yet, by job.
	unread map[*jobState][]time.Time
}

// scan queues scans of a span of the job, if it may run here. The schedule waits for them
// if anything may be caught up or rerun.
func (p *pasts) scan(j *jobState, span catchup.Span) {
	if !job.Fits(p.labels, j.Labels) {
		return
	}
	if p.unread == nil {
		p.unread = map[*jobState][]time.Time{}
	}
	p.unread[j] = append(p.unread[j], span.Before)
	rerun, catchUp := j.OnCrash == CrashRerun, j.CatchesUp()
	if rerun || catchUp {
		p.scanFirst(j, &catchup.Scan{Span: span})
	}
	if !catchUp {
		p.scanLater(j, span)
	}
}

// scanFirst queues a scan that ticks of the job wait for.
func (p *pasts) scanFirst(j *jobState, s *catchup.Scan) {
	j.lane("").scans++
	s.Owner, s.Urgent = j, true
	p.queued = append(p.queued, s)
}

// scanLater queues a scan that only records.
func (p *pasts) scanLater(j *jobState, span catchup.Span) {
	p.queued = append(p.queued, &catchup.Scan{Span: span, Owner: j})
}

// afterPause asks the ledger for a run that was interrupted during the pause, or may be
// soon: this replica has not watched it. Later ticks wait for the answer. A replica that
// runs a scheduled tick itself need not ask: no earlier tick can be claimed.
func (p *pasts) afterPause(j *jobState, now time.Time) {
	ownRun := func(t *ticket) bool { return t.Tick.Stream == "" }
	if j.OnCrash != CrashRerun || !job.Fits(p.labels, j.Labels) || slices.ContainsFunc(j.running, ownRun) {
		return
	}
	p.scanFirst(j, &catchup.Scan{Span: catchup.Span{Job: j.Job, Before: now}, OnlyRerun: true})
}

// start starts the queued scans, urgent ones first. Scans of one update form a batch with
// its own scanners, which reads the published versions once.
func (p *pasts) start(ctx context.Context, working *sync.WaitGroup) {
	if len(p.queued) == 0 || p.halfway {
		return
	}
	batch := p.queued
	p.queued = nil
	later := slices.DeleteFunc(slices.Clone(batch), func(s *catchup.Scan) bool { return s.Urgent })
	urgent := slices.DeleteFunc(batch, func(s *catchup.Scan) bool { return !s.Urgent })
	if len(urgent) > 0 {
		working.Go(func() { p.scanner.ScanAll(ctx, urgent) })
	}
	if len(later) > 0 {
		working.Go(func() { p.scanner.ScanLater(ctx, later) })
	}
}

// wasRead removes the spans of the job for which done returns true.
func (p *pasts) wasRead(j *jobState, done func(before time.Time) bool) {
	left := slices.DeleteFunc(p.unread[j], done)
	if len(left) > 0 {
		p.unread[j] = left
		return
	}
	if delete(p.unread, j); len(p.unread) == 0 {
		p.unread = nil // a map never shrinks
	}
}

// known reports whether everything is accounted for that came before this replica served
// the job, or while it slept. Other replicas have accounted for everything before learned.
func (p *pasts) known(j *jobState, learned time.Time) bool {
	if len(p.unread[j]) > 0 {
		p.wasRead(j, func(before time.Time) bool { return !before.After(learned) })
	}
	return len(p.unread[j]) == 0
}
