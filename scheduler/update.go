package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/internal/attempt"
	"github.com/quorate/quorate/scheduler/internal/catchup"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A lineup is the set of jobs that a Scheduler serves, as seen from outside the loop.
type lineup struct {
	mu      sync.Mutex // held by one update at a time, also while the loop applies it
	own     []*job.Job // from New and Update
	sourced []*job.Job // from Config.Source
	serving map[string]*lineupJob
	engine  *engine // nil before Run
}

// A lineupJob is a job of the lineup.
type lineupJob struct {
	job   *job.Job
	state *jobState // only the loop uses it
}

// values returns copies of the jobs.
func values(list []*job.Job) []jobs.Job {
	copies := make([]jobs.Job, len(list))
	for i, j := range list {
		copies[i] = j.Job
	}
	return copies
}

// ErrStopped is returned by Scheduler.Update when Run drains or has returned.
var ErrStopped = errors.New("scheduler: it is too late for an update: the replica drains or has stopped")

// Update replaces the jobs of New, or of the last Update, by list; those of Config.Source
// stay. Any goroutine but an Observer's may call it, before and during Run. When it
// returns:
//
//   - A job with a new Key is added. Its first tick is the next one.
//   - A job whose Key is gone is removed: no tick of it is claimed any more.
//     Undecided ticks are recorded as skipped. Runs continue to their end.
//   - A job with another Hash is changed: its next tick is computed again. Runs and
//     claims keep the definition that they began with.
//   - A job with the same Hash is left alone, but for its Handler and Schedule:
//     those of list are used from its next tick on.
//
// An error changes nothing. It joins everything that is wrong with list, or is ErrStopped
// when Run drains or has returned.
func (s *Scheduler) Update(list []jobs.Job) (event.Diff, error) {
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	return s.set(list, values(s.lineup.sourced))
}

// set checks the jobs, passes them to the loop, and returns what changed. One caller at a time:
// it holds lineup.mu, or is New.
func (s *Scheduler) set(own, sourced []jobs.Job) (event.Diff, error) {
	l := &s.lineup
	all := slices.Concat(own, sourced)
	if err := job.Validate(all); err != nil {
		return event.Diff{}, err
	}
	list := job.List(all)
	if err := l.validateRenames(list); err != nil {
		return event.Diff{}, err
	}
	a := s.compare(list)
	if err := l.take(a); err != nil {
		return event.Diff{}, err
	}
	l.own, l.sourced = list[:len(own):len(own)], list[len(own):]
	s.public.Serve(list)
	if !a.diff.Empty() && l.engine != nil {
		s.cfg.Observer(event.Event{Kind: event.Updated, Diff: a.diff})
	}
	return a.diff, nil
}

// validateRenames checks that a job that was renamed twice keeps its first key.
func (l *lineup) validateRenames(after []*job.Job) error {
	was := make(map[string]string)
	for key, have := range l.serving {
		if have.job.Name != key {
			was[have.job.Name] = key
		}
	}
	var errs []error
	for _, j := range after {
		if key, ok := was[j.Key]; ok {
			errs = append(errs, fmt.Errorf("scheduler: job %q has key %q, a name that the job had after %q: keep that key, under which the nodes know it", j.Name, j.Key, key))
		}
	}
	return errors.Join(errs...)
}

// jobChanges are the changes from the jobs that are served to others, job by job.
type jobChanges struct {
	added   []*lineupJob
	kept    []revision
	removed []*lineupJob
	diff    event.Diff
}

// A revision is the new definition of a job that stays.
type revision struct {
	served  *lineupJob
	now     *job.Job
	changed bool
	next    due // of a job that changed
}

// compare returns the changes to after. Jobs are the same if their keys are. Next ticks are
// computed here, where nobody waits for it.
func (s *Scheduler) compare(after []*job.Job) jobChanges {
	now := s.clock.wall()
	next := func(j *job.Job) due { return dueOf(j.FirstAfter(now, s.cfg.Window)) }
	var a jobChanges
	d, before := &a.diff, s.lineup.serving
	versions := map[string][2]*job.Job{}
	d.Settings = func(job string) (before, after any) {
		v := versions[job]
		return v[0].ShownSettings(), v[1].ShownSettings()
	}
	in := make(map[string]bool, len(after))
	for _, j := range after {
		in[j.Key] = true
		have, ok := before[j.Key]
		if !ok {
			a.added = append(a.added, &lineupJob{j, &jobState{Job: j, next: next(j)}})
			d.Added = append(d.Added, j.Name)
			continue
		}
		r, was := revision{served: have, now: j}, have.job
		if was.Name != j.Name {
			r.changed, d.Renamed = true, append(d.Renamed, event.Rename{From: was.Name, To: j.Name})
		}
		if was.Hash != j.Hash {
			r.changed, d.Changed, versions[j.Name] = true, append(d.Changed, j.Name), [2]*job.Job{was, j}
		}
		if r.changed {
			r.next = next(j)
		}
		a.kept = append(a.kept, r)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if !in[key] {
			a.removed = append(a.removed, before[key])
			d.Removed = append(d.Removed, before[key].job.Name)
		}
	}
	for _, names := range [][]string{d.Added, d.Changed, d.Removed} {
		slices.Sort(names)
	}
	slices.SortFunc(d.Renamed, func(x, y event.Rename) int { return strings.Compare(x.To, y.To) })
	return a
}

// updateAtOnce is how many jobs the loop adds in one step of an update. In between it
// serves what is due.
const updateAtOnce = 1000

// An update is one step of a change of the jobs.
type update struct {
	added   []*lineupJob
	kept    []revision
	removed []*lineupJob
	more    bool          // another step of the same update follows
	done    chan struct{} // closed when the loop has applied it
}

// take applies the changes, step by step with the loop if it runs.
func (l *lineup) take(a jobChanges) error {
	var steps []update
	for some := range slices.Chunk(a.added, updateAtOnce) {
		steps = append(steps, update{added: some})
	}
	for some := range slices.Chunk(a.kept, updateAtOnce) {
		steps = append(steps, update{kept: some})
	}
	for some := range slices.Chunk(a.removed, updateAtOnce) {
		steps = append(steps, update{removed: some})
	}
	for i, u := range steps {
		u.more = i < len(steps)-1
		if l.engine != nil && !l.engine.submit(u) {
			return ErrStopped
		}
		for _, added := range u.added {
			l.serving[added.job.Key] = added
		}
		for _, kept := range u.kept {
			kept.served.job = kept.now
		}
		for _, removed := range u.removed {
			delete(l.serving, removed.job.Key)
		}
	}
	return nil
}

// submit passes u to the loop and waits until it is applied. It returns false if the loop
// drains or has ended.
func (e *engine) submit(u update) bool {
	u.done = make(chan struct{})
	select {
	case e.updates <- u:
		<-u.done
		return true
	case <-e.closing:
		return false
	}
}

// update applies one step, in the loop.
func (e *engine) update(u update) {
	defer close(u.done)
	defer func() { e.jobs.priorities = nil }()
	now := e.clock.wall()
	for _, added := range u.added {
		// A removed job that is still busy is used again.
		if back := e.jobs.returning(added.job.Key); back != nil {
			back.Job, back.next = added.job, added.state.next
			added.state = back
		}
		e.plan(added.state)
	}
	for _, r := range u.kept {
		e.revise(r, now)
	}
	for _, removed := range u.removed {
		e.remove(removed.state, now)
	}
	e.pasts.halfway = u.more
	e.startScans()
}

// plan adds a job and its next tick, and queues a scan of its past.
func (e *engine) plan(j *jobState) {
	e.jobs.add(j)
	now := e.clock.wall()
	span := catchup.Span{Job: j.Job, Before: now, Begun: now}
	if !j.next.isZero() {
		span.Before = j.next.at
	}
	e.pasts.scan(j, span)
}

// revise replaces the definition of a job. A due tick of the old schedule that is not
// claimed yet is recorded, unless the new schedule has it.
func (e *engine) revise(r revision, now time.Time) {
	j := r.served.state
	defer e.pauseChanged(j, !j.PausedFor(e.dispatch.pauses, time.Time{}).IsZero())
	if !r.changed {
		j.Job = r.now
		return
	}
	e.fireDue(j, now)
	if due := j.tick(e.cfg.Window); !due.IsZero() && !due.At.After(now) && !due.At.Equal(r.next.at) {
		e.rec.Decided(j.Job, due, job.SkippedFor(ledger.CodeRescheduled))
	}
	j.Job = r.now
	e.jobs.reschedule(j, r.next)
}

// remove removes a job; its runs continue.
func (e *engine) remove(j *jobState, now time.Time) {
	e.fireDue(j, now)
	if due := j.tick(e.cfg.Window); !due.IsZero() && !due.At.After(now) {
		e.rec.Decided(j.Job, due, job.SkippedFor(ledger.CodeRemoved))
	}
	delete(e.pasts.unread, j)
	for _, q := range j.queues {
		for _, t := range q.ticks {
			if t.Command == nil { // other replicas with the job may run a request
				e.rec.Decided(j.Job, t, job.SkippedFor(ledger.CodeRemoved))
			} else {
				e.requests.started[t.Command.ID] = false
			}
		}
		q.ticks = nil
		if q.claiming != nil {
			q.claiming.StopWaiting(attempt.ErrRemoved)
		}
	}
	e.jobs.remove(j)
}

// fireDue starts the job's due tick if the loop has not seen it yet.
func (e *engine) fireDue(j *jobState, now time.Time) {
	if !j.next.isZero() && !j.next.start().After(now) {
		e.fire(j, now)
	}
}

// sourceTimeout bounds one reading of a Source.
const sourceTimeout = 30 * time.Second

// A Source yields jobs from data: a schedule for each customer, for example, from a
// database. It is read when Run begins, every Config.SourceEvery, and after
// Scheduler.Refresh. Its jobs follow the rules of Scheduler.Update.
type Source interface {
	// Jobs returns all current jobs, in any order. Missing jobs are removed. After an error
	// all jobs stay until the next answer: so return the error of a reader, never the rows
	// read before it. The context ends after 30 s. An answer that lacks most of the jobs, see
	// ErrHalfWritten, counts if one at least Config.SourceEvery later lacks the same.
	//
	// The name or key of another job, also of one of New or Update, is an error, too.
	Jobs(ctx context.Context) ([]jobs.Job, error)
}

// SourceFunc is a function that is a Source.
type SourceFunc func(ctx context.Context) ([]jobs.Job, error)

// Jobs calls f.
func (f SourceFunc) Jobs(ctx context.Context) ([]jobs.Job, error) { return f(ctx) }

// Refresh reads Config.Source soon instead of after Config.SourceEvery: call it when data
// has changed. It does not wait. Any goroutine may call it.
func (s *Scheduler) Refresh() {
	select {
	case s.refresh <- struct{}{}:
	default: // it will be read anyway
	}
}

// follow reads Config.Source until ctx ends or the engine drains.
func (s *Scheduler) follow(ctx context.Context) {
	if s.cfg.Source == nil {
		return
	}
	ticker := time.NewTicker(s.cfg.SourceEvery)
	defer ticker.Stop()
	var last string // text of the last failure
	var loss heldLoss
	for ctx.Err() == nil {
		err := s.readSource(ctx, &loss)
		if errors.Is(err, ErrStopped) || ctx.Err() != nil {
			return
		}
		text := ""
		if err != nil {
			text = err.Error()
		}
		if text != last { // a failure, once while it stays the same, or its end
			s.cfg.Observer(event.Event{Kind: event.UpdateFailed, Err: err})
			last = text
		}
		select {
		case <-ctx.Done():
		case <-s.refresh:
		case <-ticker.C:
		}
	}
}

// A heldLoss is an answer that lacks most jobs, and waits to be given again.
type heldLoss struct {
	text  string // empty: there is none
	since time.Time
}

// readSource reads Config.Source and serves its jobs.
func (s *Scheduler) readSource(ctx context.Context, held *heldLoss) error {
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	list, err := s.cfg.Source.Jobs(ctx)
	if err != nil {
		return fmt.Errorf("reading the jobs: %w", err)
	}
	s.lineup.mu.Lock()
	defer s.lineup.mu.Unlock()
	if err := CheckLoss(values(s.lineup.sourced), list); err == nil {
		*held = heldLoss{}
	} else if err.Error() != held.text {
		*held = heldLoss{err.Error(), time.Now()}
		return err
	} else if time.Since(held.since) < s.cfg.SourceEvery {
		return err
	}
	_, err = s.set(values(s.lineup.own), list)
	return err
}

// ErrHalfWritten is the Err of an event.UpdateFailed whose new jobs lack most of the old
// ones, or whose file seems to be cut off. They are served if they are found the same
// some time later.
var ErrHalfWritten = errors.New("may be half written")

// CheckLoss returns an error that matches ErrHalfWritten if after has fewer jobs than before and
// lacks more than half of those.
func CheckLoss(before, after []jobs.Job) error {
	left := make(map[string]bool, len(after))
	for _, j := range after {
		left[j.StoredAs()] = true
	}
	var gone []string
	for _, j := range before {
		if !left[j.StoredAs()] {
			gone = append(gone, j.Name)
		}
	}
	if len(after) >= len(before) || 2*len(gone) <= len(before) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d jobs are gone, such as %s", ErrHalfWritten, len(gone), len(before), gone[0])
}
