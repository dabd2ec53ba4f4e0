package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// SurveySpan is how far a Survey looks back.
const SurveySpan = 7 * 24 * time.Hour

const (
	// surveyedAtOnce bounds the entries that a call of Survey.Read reads in the first call and
	// in one every readAgainAfter, and what is new. Without plain ones the store looks at
	// ledger.LookedAt times as many.
	surveyedAtOnce = 5000
	// surveyedPerView bounds the entries that each other call reads, less the first
	// stretch of each job. With many jobs leastPerView are read nevertheless.
	surveyedPerView = 1400
	leastPerView    = 200
	// mostInStretch bounds the stretch that is read of a job at once.
	mostInStretch = 100
	// mostOpen bounds the ticks that are read again since their run was open.
	mostOpen = 100
	// readAgainAfter is when reading a job again begins: replicas record some misses late.
	readAgainAfter = 5 * time.Minute
	// mostAside bounds the jobs that are remembered although the last call did not ask for them:
	// people who look at different jobs take turns.
	mostAside = 100
)

// A Survey remembers what became of the ticks of jobs. Each call of Read reads only new entries, and
// some of the older ones that are not known yet. Its zero value is ready; it may be used by many
// goroutines.
type Survey struct {
	// Plain ones are remembered, too: see [ledger.Entry.Plain].
	Plain bool

	known atomic.Pointer[survey]
	large atomic.Int64 // when a call last read surveyedAtOnce older entries, in ms
}

// A Past is what a Survey knows of a job.
type Past struct {
	Events []Event // newest first
	// Since is the start of what is known; zero: all of SurveySpan. Unread: there are earlier
	// entries, which a later call reads. Else the ledger has dropped them.
	Since  time.Time
	Unread bool
}

// An Event is what became of a tick.
type Event struct {
	At                         time.Time // its order key
	Stream                     string
	Outcome                    ledger.Outcome
	Code                       ledger.Code // of its reason, or of the cause behind it
	Text                       string      // of a reason without a code of its own
	Replica, InterruptedOn     string
	Ran                        bool
	Started                    time.Time     // zero: unknown
	Took                       time.Duration // negative: unknown, or it goes on
	Delay                      time.Duration // from the tick to its start, if the schedule asked for it; negative: unknown
	Interruptions, StaleWrites int

	open bool // its run goes on, or another replica may run it again
}

func newEvent(e ledger.Entry) Event {
	v := Event{
		At: e.OrderKey(), Stream: e.Stream, Outcome: e.Outcome, Code: e.Reason.Code, Replica: e.Replica, InterruptedOn: e.InterruptedOn, Ran: e.Ran(), Started: e.Started,
		Took: -1, Delay: -1, Interruptions: e.Interruptions, StaleWrites: e.StaleWrites,
		open: e.Outcome == ledger.Running || e.Outcome == ledger.Interrupted || e.Outcome == ledger.LeaseLost,
	}
	if e.Reason.Code == ledger.CodeCatchUp && e.Reason.Details != nil && e.Reason.Details.With != nil {
		v.Code = e.Reason.Details.With.Code
	}
	if v.Code == ledger.CodeOther {
		v.Text = e.Reason.String()
	}
	if !e.Started.IsZero() && !e.Finished.IsZero() {
		v.Took = max(0, e.Finished.Sub(e.Started))
	}
	if e.Trigger == ledger.BySchedule && e.Attempt <= 1 && !e.Started.IsZero() {
		v.Delay = max(0, e.Started.Sub(e.Tick))
	}
	return v
}

// ID is that of the run of the named job, see [ledger.Entry.ID].
func (e Event) ID(job string) string {
	return ledger.Entry{Job: job, Tick: e.At, Stream: e.Stream}.ID()
}

// Failed reports whether a run ended without success.
func (e Event) Failed() bool { return slices.Contains(FailedOutcomes(), e.Outcome) }

// A survey is what was read of some jobs. It reads each down to the start of the span, and after
// a while again.
type survey struct {
	jobs  map[string]*jobSurvey // by key
	aside map[string]*jobSurvey // others, of earlier calls
	look  func(context.Context, []ledger.Stretch) ([]ledger.Skimmed, error)
}

// A jobSurvey is what was read of one job.
type jobSurvey struct {
	began   time.Time // when reading it down began
	from    time.Time // what was since then is known; zero: all of the span
	until   time.Time // the latest time of which it is
	next    time.Time // where the survey goes on, downwards; zero: it has read all
	size    int       // of its next stretch
	trimmed time.Time // the ledger has dropped entries up to it
	events  []Event   // newest first
}

// Read returns what became of the ticks of the jobs with the keys, in the SurveySpan before now. It reads a
// bounded number of entries: a Past says if more are needed. Newest is what [Reader.Newest] returned for them:
// of jobs without a new entry nothing is read again.
func (p *Survey) Read(ctx context.Context, r Reader, keys []string, newest map[string]time.Time, now time.Time) (map[string]Past, error) {
	most := max(leastPerView, surveyedPerView-firstStretch*len(keys))
	large := p.large.Load()
	if now.UnixMilli()-large > readAgainAfter.Milliseconds() && p.large.CompareAndSwap(large, now.UnixMilli()) {
		most = surveyedAtOnce
	}
	last := p.known.Load()
	s := newSurvey(last, keys, now)
	s.look = r.Records.Ledger.Search
	if p.Plain {
		s.look = func(ctx context.Context, ask []ledger.Stretch) ([]ledger.Skimmed, error) {
			return r.Records.Ledger.Skim(ctx, ask, true)
		}
	}
	if err := s.read(ctx, newest, now, most); err != nil {
		if most == surveyedAtOnce {
			p.large.Store(large)
		}
		return nil, err
	}
	all := make(map[string]Past, len(keys))
	for key, k := range s.jobs {
		all[key] = k.past(now.Add(-SurveySpan))
	}
	if other := p.known.Load(); other != last { // of somebody who looked at the same time
		for key, k := range other.jobs {
			if s.jobs[key] == nil {
				s.aside[key] = k
			}
		}
	}
	p.known.Store(s)
	return all, nil
}

// newSurvey continues the last survey, which may be nil.
func newSurvey(last *survey, keys []string, now time.Time) *survey {
	known := map[string]*jobSurvey{}
	if last != nil {
		maps.Copy(known, last.aside)
		maps.Copy(known, last.jobs)
		maps.DeleteFunc(known, func(_ string, k *jobSurvey) bool { return k.until.Before(now.Add(-SurveySpan)) })
	}
	s := &survey{jobs: make(map[string]*jobSurvey, len(keys)), aside: known}
	for _, key := range keys {
		k := jobSurvey{began: now, from: upTo(now).Add(time.Millisecond), until: now, next: upTo(now)}
		if old := known[key]; old != nil {
			if k = *old; k.next.IsZero() && now.Sub(k.began) > readAgainAfter {
				k.began, k.next = now, upTo(now)
			}
		}
		s.jobs[key] = &k
		delete(s.aside, key)
	}
	byAge := slices.SortedFunc(maps.Keys(s.aside), func(x, y string) int {
		return cmp.Or(s.aside[x].until.Compare(s.aside[y].until), cmp.Compare(x, y))
	})
	for _, key := range byAge[:max(0, len(byAge)-mostAside)] {
		delete(s.aside, key)
	}
	return s
}

// upTo is until when the ticks of replicas whose clocks are ahead may come.
func upTo(now time.Time) time.Time { return now.Add(time.Minute) }

// read reads the new entries of each job, the ticks whose run was open, and then earlier entries.
func (s *survey) read(ctx context.Context, newest map[string]time.Time, now time.Time, most int) error {
	since := now.Add(-SurveySpan)
	var fresh, open []ledger.Stretch
	for _, key := range slices.Sorted(maps.Keys(s.jobs)) {
		k := s.jobs[key]
		down := later(k.until.Add(-settlingTime), since)
		if !k.from.After(now) && !newest[key].Before(down) {
			fresh = append(fresh, ledger.Stretch{Job: key, NotAfter: upTo(now), Since: down, Limit: 1})
		}
		for _, e := range k.events {
			if e.open && e.At.Before(down) {
				open = append(open, ledger.Stretch{Job: key, NotAfter: e.At, Since: e.At, Limit: firstStretch})
			}
		}
		k.until = now
	}
	// New entries come first: if they are too many, the older ones of the job are dropped, since the
	// known entries may have no gap.
	for left := surveyedAtOnce; left > 0 && len(fresh) > 0; {
		cost, err := s.search(ctx, fresh)
		if err != nil {
			return err
		}
		left -= cost
		fresh = slices.DeleteFunc(fresh, func(f ledger.Stretch) bool { return f.NotAfter.Before(f.Since) })
		for i, f := range fresh {
			if fresh[i].Limit = min(mostInStretch, stretchFactor*f.Limit); left <= 0 {
				s.jobs[f.Job].drop(f.NotAfter.Add(time.Millisecond))
			}
		}
	}
	slices.SortStableFunc(open, func(x, y ledger.Stretch) int { return y.NotAfter.Compare(x.NotAfter) })
	if _, err := s.search(ctx, open[:min(len(open), mostOpen)]); err != nil {
		return err
	}
	return s.readOn(ctx, since, most)
}

// readOn reads about as many earlier entries as most says. All jobs get an equal share, beginning
// with those of which the shortest time is known.
func (s *survey) readOn(ctx context.Context, since time.Time, most int) error {
	for left := most; 8*left > most; {
		var past []ledger.Stretch
		for _, key := range slices.Sorted(maps.Keys(s.jobs)) {
			if k := s.jobs[key]; !k.next.IsZero() {
				past = append(past, ledger.Stretch{Job: key, NotAfter: k.next, Since: since, Limit: k.size})
			}
		}
		if len(past) == 0 {
			return nil
		}
		slices.SortStableFunc(past, func(x, y ledger.Stretch) int {
			return cmp.Or(s.jobs[y.Job].from.Compare(s.jobs[x.Job].from), y.NotAfter.Compare(x.NotAfter))
		})
		size := min(mostInStretch, max(firstStretch, left/len(past)-1))
		past = past[:min(len(past), max(1, left/(size+1)))]
		for i := range past {
			past[i].Limit = max(past[i].Limit, size)
		}
		asked := slices.Clone(past)
		cost, err := s.search(ctx, past)
		if err != nil {
			return err
		}
		left -= cost
		for i, p := range past {
			k := s.jobs[p.Job]
			k.next, k.size = p.NotAfter, 0
			switch {
			case p.NotAfter.Before(since):
				k.next, k.from = time.Time{}, time.Time{}
			case p.NotAfter.Equal(asked[i].NotAfter): // a tick has more records than that
				k.size = min(mostInStretch, stretchFactor*p.Limit)
			case p.NotAfter.Before(k.from):
				k.from = p.NotAfter.Add(time.Millisecond)
			}
		}
	}
	return nil
}

// search reads the stretches, replaces the known entries there, and shortens each stretch to its
// unread part. The cost is about the number of entries that were read.
func (s *survey) search(ctx context.Context, ask []ledger.Stretch) (cost int, err error) {
	if len(ask) == 0 {
		return 0, nil
	}
	found, err := s.look(ctx, ask)
	if err != nil {
		return 0, err
	}
	for i, f := range found {
		cost += len(f.Entries) + 1
		down, rest := ask[i].Since, ask[i].Since.Add(-time.Millisecond)
		if f.Rest.After(rest) {
			down, rest = f.Rest.Add(time.Millisecond), f.Rest
		}
		if ask[i].Limit >= mostInStretch && rest.Equal(ask[i].NotAfter) { // no stretch can hold this tick
			rest = rest.Add(-time.Millisecond)
		}
		k := s.jobs[ask[i].Job]
		k.replace(f.Entries, down, ask[i].NotAfter)
		k.trimmed = later(k.trimmed, f.Trimmed)
		ask[i].NotAfter = rest
	}
	return cost, nil
}

// replace replaces what was from one time to another by the entries, newest first.
func (k *jobSurvey) replace(list []ledger.Entry, from, to time.Time) {
	var events []Event
	for _, e := range k.events {
		if e.At.After(to) {
			events = append(events, e)
		}
	}
	for _, e := range list {
		events = append(events, newEvent(e))
	}
	for _, e := range k.events {
		if e.At.Before(from) {
			events = append(events, e)
		}
	}
	k.events = events
}

// drop drops what was before a time, because some after it is not known.
func (k *jobSurvey) drop(from time.Time) {
	k.from, k.next = from, from.Add(-time.Millisecond)
	k.events = slices.DeleteFunc(slices.Clone(k.events), func(e Event) bool { return e.At.Before(from) })
}

// past forgets what was before a time, and returns the rest.
func (k *jobSurvey) past(since time.Time) Past {
	end := len(k.events)
	for end > 0 && k.events[end-1].At.Before(since) {
		end--
	}
	k.events = k.events[:end]
	p := Past{Events: k.events}
	switch {
	case k.from.After(since):
		p.Since, p.Unread = k.from, true
	case k.trimmed.After(since):
		p.Since = k.trimmed.Add(time.Millisecond)
	}
	return p
}
