package readmodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

const (
	// whole is a limit that no ledger reaches.
	whole = 10 * jobs.MaxKeep
	// late is how far back a survey that continues reads again: replicas have recorded their ticks by then.
	late = time.Minute
	// mostReads bounds how often a new survey may say that more is to be read, a few thousand entries at once.
	mostReads = 20
)

// ReadFacts reads the whole ledger, and which jobs are paused.
func ReadFacts(ctx context.Context, from store.Records) (Facts, error) {
	f := Facts{Entries: map[string][]ledger.Entry{}, Trimmed: map[string]time.Time{}, Paused: map[string]bool{}}
	published, err := from.Roster.Jobs(ctx)
	if err != nil {
		return f, err
	}
	open, err := from.Commands.Open(ctx)
	if err != nil && !errors.Is(err, commands.ErrGrace) { // then the read model says that pauses are not known
		return f, err
	}
	for _, j := range published {
		key := cmp.Or(j.Key, j.Name)
		if f.Paused[key] = j.Paused; !j.Paused {
			f.Paused[key] = slices.ContainsFunc(open.Pauses, func(p commands.Command) bool {
				return p.All || p.Job == key || p.Tag != "" && slices.Contains(j.Tags, p.Tag)
			})
		}
		runs, err := from.Ledger.Runs(ctx, ledger.Query{Job: key, Limit: whole})
		if err != nil {
			return f, err
		}
		ticks, err := from.Ledger.Ticks(ctx, ledger.Query{Job: key, Limit: whole})
		if err != nil {
			return f, err
		}
		begin, err := from.Ledger.Skim(ctx, []ledger.Stretch{{Job: key}}, true)
		if err != nil {
			return f, err
		}
		f.Trimmed[key] = begin[0].Trimmed
		f.Entries[key] = append(runs, slices.DeleteFunc(ticks, func(e ledger.Entry) bool { return e.Token != 0 })...)
	}
	return f, nil
}

// ask returns what the read model says now about each job, by its key: the listing of jobs, those in need, a survey
// that begins now, and the two that the session has read last at the other time; zero: never.
func (s *Session) ask(ctx context.Context, r view.Reader, now, last time.Time) (map[string][]Answer, error) {
	r.Standings = &s.standings
	directory, err := r.Directory(ctx)
	if err != nil {
		return nil, err
	}
	newest, err := r.Newest(ctx, directory.Keys)
	if err != nil {
		return nil, err
	}
	listed, err := r.Jobs(ctx, view.JobQuery{})
	if err != nil {
		return nil, err
	}
	needs, err := r.InNeed(ctx, newest, now)
	if err != nil {
		return nil, err
	}
	spans, err := s.spans(ctx, r, directory.Keys, newest, now, last)
	if err != nil {
		return nil, err
	}
	answers := map[string][]Answer{}
	for _, row := range listed.Items {
		a := Answer{Job: row.Key, Newest: newestOf(row), Streaks: []Streak{streakSaid(row.Standing), listedStreak(row)}, Spans: spans[row.Key]}
		if need := slices.IndexFunc(needs, func(j view.JobInNeed) bool { return j.Job == row.Job }); row.Live {
			if a.Need = new(need >= 0); need >= 0 {
				a.Streaks = append(a.Streaks, streakSaid(needs[need].Standing))
			}
		}
		if listed.Unknown == nil {
			a.Paused = new(row.Paused != nil)
		}
		answers[row.Key] = append(answers[row.Key], a)
	}
	return answers, nil
}

// spans are what surveys say of the jobs with the keys.
func (s *Session) spans(ctx context.Context, r view.Reader, keys []string, newest map[string]time.Time, now, last time.Time) (map[string][]Span, error) {
	start := now.Add(-view.SurveySpan)
	continued := start
	if !last.IsZero() {
		continued = last.Add(-late)
	}
	spans := map[string][]Span{}
	for _, of := range []struct {
		name   string
		survey *view.Survey
		from   []time.Time
	}{
		{"a new survey", &view.Survey{Plain: true}, []time.Time{start, now.Add(-15 * time.Second)}},
		{"a continued survey", &s.all, []time.Time{continued}},
		{"a continued survey of trouble", &s.trouble, []time.Time{continued}},
	} {
		of.survey.Plain = of.survey != &s.trouble
		pasts, err := read(ctx, of.survey, r, keys, newest, now)
		if err != nil {
			return nil, err
		}
		for key, past := range pasts {
			for _, from := range of.from {
				spans[key] = append(spans[key], spanSaid(fmt.Sprintf("%s of %v", of.name, now.Sub(from).Round(time.Second)), of.survey.Plain, past, from))
			}
		}
	}
	return spans, nil
}

// read reads until the survey has read all, as several views of a page do.
func read(ctx context.Context, s *view.Survey, r view.Reader, keys []string, newest map[string]time.Time, now time.Time) (pasts map[string]view.Past, err error) {
	for range mostReads {
		pasts, err = s.Read(ctx, r, keys, newest, now)
		unread := false
		for _, p := range pasts {
			unread = unread || p.Unread
		}
		if err != nil || !unread {
			break
		}
	}
	return pasts, err
}

// newestOf is the newest tick of a job in the listing.
func newestOf(row view.Job) *Tick {
	if row.LastTick == nil || row.LastOutcome == nil {
		return nil
	}
	return &Tick{view.Time(row.LastTick), *row.LastOutcome, view.Text(row.LastReplica)}
}

func streakSaid(s view.Standing) Streak {
	return Streak{Last: entrySaid(s.Last), Good: s.Good.Tick, InARow: s.InARow, Dropped: s.GoodDropped, Since: s.Since}
}

// listedStreak is what the listing has in JSON. It does not say how far back it was read.
func listedStreak(row view.Job) Streak {
	s := Streak{Last: entrySaid(row.Standing.Last), Good: view.Time(row.LastSuccess), InARow: row.Unsuccessful, Since: row.Standing.Since}
	if row.SuccessDropped {
		s.Good, s.Dropped = time.Time{}, s.Good
	}
	return s
}

func entrySaid(e ledger.Entry) Tick {
	if e.Tick.IsZero() {
		return Tick{}
	}
	return Tick{e.Tick, e.Outcome, e.Replica}
}

// spanSaid is what a page says of the ticks since a time.
func spanSaid(name string, plain bool, p view.Past, from time.Time) Span {
	f := p.Figures(from)
	s := Span{Name: name, Plain: plain, From: from, Since: f.Since, Outcomes: map[ledger.Outcome]int{}, Runs: f.Runs, Failures: f.Failures, Timed: f.Timed, P50: f.P50, P95: f.P95}
	for _, e := range p.EventsSince(f.Since) {
		s.Outcomes[e.Outcome]++
	}
	return s
}
