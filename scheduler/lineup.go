package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// updateAtOnce is how many jobs the loop adds in one step of an update. In between it
// serves what is due.
const updateAtOnce = 1000

// A lineup is the set of jobs that a Scheduler serves, as seen from outside the loop.
type lineup struct {
	mu      sync.Mutex // held by one update at a time, also while the loop applies it
	own     []*job.Job // from New and Update
	sourced []*job.Job // from Config.Source
	serving map[string]*served
	engine  *engine // nil before Run
}

// served is a job of the lineup, and the loop's state of it.
type served struct {
	*job.Job
	job *jobState
}

// An update is one step of a change of the jobs.
type update struct {
	added   []*served
	kept    []revision
	removed []*served
	more    bool          // another step of the same update follows
	done    chan struct{} // closed when the loop has applied it
}

// A revision is the new definition of a job that stays.
type revision struct {
	served  *served
	now     *job.Job
	changed bool
	next    due // of a job that changed
}

// set checks the jobs, passes them to the loop, and returns what changed.
func (s *Scheduler) set(own, sourced []Job) (Diff, error) {
	l := &s.lineup
	all := slices.Concat(own, sourced)
	if err := job.Validate(all); err != nil {
		return Diff{}, err
	}
	list := job.List(all)
	before := make(map[string]*job.Job, len(l.serving))
	for key, have := range l.serving {
		before[key] = have.Job
	}
	if err := validateRenames(before, list); err != nil {
		return Diff{}, err
	}
	a := compareJobs(before, list)
	if err := s.take(a); err != nil {
		return Diff{}, err
	}
	l.own, l.sourced = list[:len(own):len(own)], list[len(own):]
	s.public.Serve(list)
	if !a.Empty() && l.engine != nil {
		s.cfg.Observer(Event{Kind: EventUpdated, Diff: a.Diff})
	}
	return a.Diff, nil
}

// values returns copies of the jobs.
func values(list []*job.Job) []Job {
	copies := make([]Job, len(list))
	for i, j := range list {
		copies[i] = j.Definition
	}
	return copies
}

// take applies the changes, step by step with the loop if it runs.
func (s *Scheduler) take(a jobChanges) error {
	l := &s.lineup
	steps := s.steps(a)
	for i, u := range steps {
		u.more = i < len(steps)-1
		if l.engine != nil && !l.engine.submit(u) {
			return ErrStopped
		}
		for _, added := range u.added {
			l.serving[added.Key] = added
		}
		for _, kept := range u.kept {
			kept.served.Job = kept.now
		}
		for _, removed := range u.removed {
			delete(l.serving, removed.Key)
		}
	}
	return nil
}

// steps divides the changes. Next ticks are computed here, where nobody waits for it.
func (s *Scheduler) steps(a jobChanges) []update {
	now := s.clock.wall()
	var steps []update
	for some := range slices.Chunk(a.added, updateAtOnce) {
		var u update
		for _, j := range some {
			u.added = append(u.added, &served{Job: j, job: &jobState{Job: j, next: dueOf(j.FirstAfter(now, s.cfg.Window))}})
		}
		steps = append(steps, u)
	}
	for from := 0; from < len(a.kept); from += updateAtOnce {
		var u update
		for i := from; i < min(from+updateAtOnce, len(a.kept)); i++ {
			u.kept = append(u.kept, s.revise(a.kept[i], a.changed[i], now))
		}
		steps = append(steps, u)
	}
	for some := range slices.Chunk(a.removed, updateAtOnce) {
		var u update
		for _, j := range some {
			u.removed = append(u.removed, s.lineup.serving[j.Key])
		}
		steps = append(steps, u)
	}
	return steps
}

func (s *Scheduler) revise(j *job.Job, changed bool, now time.Time) revision {
	r := revision{served: s.lineup.serving[j.Key], now: j, changed: changed}
	if changed {
		r.next = dueOf(j.FirstAfter(now, s.cfg.Window))
	}
	return r
}
