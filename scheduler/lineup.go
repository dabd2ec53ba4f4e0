package scheduler

import (
	"slices"
	"sync"
	"time"
)

// updateAtOnce is how many jobs the loop takes in one step of an update: in
// between it sees to what is due.
const updateAtOnce = 1000

// A lineup is the jobs that a Scheduler serves, as seen from outside the loop.
type lineup struct {
	mu      sync.Mutex // held by one update at a time, and while the loop takes it in
	own     []*Job     // from New and Update
	sourced []*Job     // from Config.Source
	serving map[string]*served
	engine  *engine // nil before Run
}

// served is a job of the lineup, and the loop's own of it.
type served struct {
	*Job
	job *job
}

// An update is one step in which the loop takes jobs in.
type update struct {
	added   []*served
	kept    []revision
	removed []*served
	more    bool          // another step of the same update follows
	done    chan struct{} // closed when the loop has
}

// A revision is what a job that stays is from now on.
type revision struct {
	served  *served
	now     *Job
	changed bool
	next    due // of a job that changed
}

// set checks the jobs, has the loop take them in, and says what that changed.
func (s *Scheduler) set(own, sourced []Job) (Diff, error) {
	l := &s.lineup
	all := slices.Concat(own, sourced)
	if err := validateJobs(all); err != nil {
		return Diff{}, err
	}
	list := hashed(all)
	before := make(map[string]*Job, len(l.serving))
	for key, have := range l.serving {
		before[key] = have.Job
	}
	if err := validateRenames(before, list); err != nil {
		return Diff{}, err
	}
	a := alter(before, list)
	if err := s.take(a); err != nil {
		return Diff{}, err
	}
	l.own, l.sourced = list[:len(own):len(own)], list[len(own):]
	s.public.serve(list)
	if !a.Empty() && l.engine != nil {
		s.cfg.Observer(Event{Kind: EventUpdated, Diff: a.Diff})
	}
	return a.Diff, nil
}

// values returns copies of the jobs, which a new list may be made of.
func values(list []*Job) []Job {
	copies := make([]Job, len(list))
	for i, j := range list {
		copies[i] = *j
	}
	return copies
}

// take applies an alteration to the lineup, step by step with the loop if there
// is one.
func (s *Scheduler) take(a alteration) error {
	l := &s.lineup
	steps := s.steps(a)
	for i, u := range steps {
		u.more = i < len(steps)-1
		if l.engine != nil && !l.engine.hand(u) {
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

// steps divides an alteration. The ticks to come are computed here, where
// nobody waits for it.
func (s *Scheduler) steps(a alteration) []update {
	now := s.clock.wall()
	var steps []update
	for some := range slices.Chunk(a.added, updateAtOnce) {
		var u update
		for _, j := range some {
			u.added = append(u.added, &served{Job: j, job: &job{Job: j, next: j.firstAfter(now, s.cfg.Window).due()}})
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

func (s *Scheduler) revise(j *Job, changed bool, now time.Time) revision {
	r := revision{served: s.lineup.serving[j.Key], now: j, changed: changed}
	if changed {
		r.next = j.firstAfter(now, s.cfg.Window).due()
	}
	return r
}
