package readmodel

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/scheduler/ledger"
)

// An Answer is what the read model says about one job.
type Answer struct {
	Job    string // its key
	Newest *Tick  // its newest tick; nil: it has had none
	// Streaks is how its latest ticks ended, from each place that says so.
	Streaks []Streak
	Spans   []Span
	// Need reports whether the job is listed as one whose last tick did not succeed; nil: nobody serves it.
	Need   *bool
	Paused *bool // nil: it is not known
}

// A Tick is what is said of one.
type Tick struct {
	At      time.Time // nominal
	Outcome ledger.Outcome
	Replica string
}

func (t Tick) String() string {
	if t.At.IsZero() {
		return "none"
	}
	return fmt.Sprintf("%s %s on %q", clock(t.At), t.Outcome, t.Replica)
}

// A Streak says how the latest ticks of a job ended.
type Streak struct {
	Last   Tick      // the newest that ended or was missed; zero: none
	Good   time.Time // the newest success; zero: none
	InARow int       // ticks without success after Good
	// Dropped is when the newest success was due or requested, if the ledger has dropped its record; zero: unknown.
	Dropped time.Time
	// Since, if set, is the oldest tick that was read. The rest says nothing about earlier ones.
	Since time.Time
}

// A Span is what is counted of the ticks of a job.
type Span struct {
	Name string // for messages
	// Plain: ticks that ended without any trouble are counted, too. Otherwise only outcomes and failures are
	// stated, of the others.
	Plain bool
	From  time.Time // that was asked for
	Since time.Time // only ticks since then are counted; From, or later

	Outcomes       map[ledger.Outcome]int
	Runs, Failures int
	// Timed counts the successes whose duration is known. The percentiles are of these durations.
	Timed    int
	P50, P95 time.Duration
}

// A Lie is a figure that is not true.
type Lie struct {
	Job, Figure string
	Said, True  string
}

func (l Lie) String() string {
	return fmt.Sprintf("%s: %s: said %s, true is %s", l.Job, l.Figure, l.Said, l.True)
}

// Check returns the lies in the answers, by job. A job may have several answers.
func Check(answers []Answer, f Facts) (lies []Lie) {
	for _, job := range slices.Sorted(maps.Keys(f.Entries)) {
		if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Job == job }) {
			lies = append(lies, Lie{job, "job", "nothing", "it is published"})
		}
	}
	for _, a := range answers {
		entries, published := f.Entries[a.Job]
		if !published {
			lies = append(lies, Lie{a.Job, "job", "it is listed", "nobody has published it"})
			continue
		}
		c := comparison{job: a.Job, ticks: ticksOf(entries), facts: f}
		c.answer(a)
		lies = append(lies, c.lies...)
	}
	return lies
}

// A comparison is that of one answer.
type comparison struct {
	job   string
	ticks []tick
	facts Facts
	lies  []Lie
}

func (c *comparison) answer(a Answer) {
	c.newest(a.Newest)
	for _, s := range a.Streaks {
		c.streak(s)
	}
	for _, s := range a.Spans {
		c.span(s)
	}
	if a.Need != nil {
		c.differs("in need", *a.Need, streakOf(c.ticks).InARow > 0)
	}
	if a.Paused != nil {
		c.differs("paused", *a.Paused, c.facts.Paused[c.job])
	}
	states := a.Newest != nil || a.Paused != nil && a.Need != nil
	states = states || slices.ContainsFunc(a.Streaks, func(s Streak) bool { return !s.Last.At.IsZero() })
	states = states || slices.ContainsFunc(a.Spans, func(s Span) bool { return len(s.Outcomes) > 0 })
	if c.facts.Quiet && len(c.ticks) > 0 && !states {
		c.lie("everything", "unknown", fmt.Sprintf("the ledger has %d ticks", len(c.ticks)))
	}
}

func (c *comparison) lie(figure string, said, is any) {
	c.lies = append(c.lies, Lie{c.job, figure, fmt.Sprint(said), fmt.Sprint(is)})
}

// differs compares a figure.
func (c *comparison) differs(figure string, said, is any) {
	if said != is {
		c.lie(figure, said, is)
	}
}

func (c *comparison) differAt(figure string, said, is time.Time) {
	if said.IsZero() != is.IsZero() || said.UnixMilli() != is.UnixMilli() {
		c.lie(figure, clock(said), clock(is))
	}
}

func (c *comparison) newest(said *Tick) {
	switch {
	case len(c.ticks) == 0:
		if said != nil {
			c.lie("newest tick", said, "none")
		}
	case said == nil:
		c.lie("newest tick", "none", sayingOf(c.ticks[0]))
	default:
		is := sayingOf(c.ticks[0])
		c.differAt("newest tick", said.At, is.At)
		c.differs("newest outcome", said.Outcome, is.Outcome)
		c.differs("newest replica", said.Replica, is.Replica)
		if said.Outcome == ledger.Succeeded {
			c.inSink("newest outcome", said.At)
		}
	}
}

func (c *comparison) streak(said Streak) {
	is := streakOf(since(c.ticks, said.Since))
	if trimmed := c.facts.Trimmed[c.job]; said.Since.IsZero() && said.Good.IsZero() && !trimmed.IsZero() {
		c.lie("streak since", "ever", "the ledger has dropped ticks up to "+clock(trimmed))
	}
	c.differs("in a row", said.InARow, is.InARow)
	c.differAt("last good", said.Good, is.Good)
	c.differAt("last ended", said.Last.At, is.Last.At)
	c.differs("last outcome", said.Last.Outcome, is.Last.Outcome)
	if !said.Good.IsZero() {
		c.inSink("last good", said.Good)
	}
	if !said.Dropped.IsZero() {
		c.dropped(said.Dropped)
	}
}

// dropped checks a success that the ledger has dropped: the sink has seen it, and the ledger has no newer one.
func (c *comparison) dropped(said time.Time) {
	if kept := streakOf(c.ticks).Good; !kept.IsZero() {
		c.lie("last good, dropped", clock(said), clock(kept)+", which is kept")
	}
	if trimmed := c.facts.Trimmed[c.job]; said.After(trimmed) {
		c.lie("last good, dropped", clock(said), "only ticks up to "+clock(trimmed)+" are dropped")
	}
	c.inSink("last good, dropped", said)
}

// inSink wants the sink to have seen a run of the tick come to its end.
func (c *comparison) inSink(figure string, at time.Time) {
	if c.facts.Sink != nil && !slices.ContainsFunc(c.facts.Sink, func(e checker.Effect) bool { return e.Finished && c.isOf(e, at) }) {
		c.lie(figure, clock(at)+" succeeded", "the sink has not seen it finish")
	}
}

func (c *comparison) isOf(e checker.Effect, at time.Time) bool {
	return e.Job == c.job && e.At.UnixMilli() == at.UnixMilli()
}

func (c *comparison) span(said Span) {
	figure := func(name string) string { return said.Name + ", " + name }
	ticks := since(c.ticks, said.From)
	if !said.Plain {
		ticks = slices.DeleteFunc(ticks, func(t tick) bool { return t.plain })
	}
	counted := since(ticks, said.Since)
	if c.facts.Quiet && len(counted) < len(ticks) && said.Since.After(c.facts.Trimmed[c.job].Add(time.Millisecond)) {
		c.lie(figure("since"), clock(said.Since), fmt.Sprintf("the ledger has %d ticks before that", len(ticks)-len(counted)))
	}
	if said.Since.Before(said.From) {
		c.lie(figure("since"), clock(said.Since), "asked for since "+clock(said.From))
	}
	is := spanOf(counted)
	for _, o := range ledger.Outcomes() {
		c.differs(figure(string(o)), said.Outcomes[o], is.Outcomes[o])
	}
	c.differs(figure("failures"), said.Failures, is.Failures)
	c.effects(figure("succeeded"), said.Outcomes[ledger.Succeeded], counted)
	if said.Plain {
		c.differs(figure("runs"), said.Runs, is.Runs)
		c.differs(figure("runs behind the percentiles"), said.Timed, is.Timed)
		c.differs(figure("p50"), said.P50, is.P50)
		c.differs(figure("p95"), said.P95, is.P95)
	}
}

// effects wants the sink to have seen as many of the ticks come to their end as are counted as successes.
func (c *comparison) effects(figure string, said int, counted []tick) {
	if c.facts.Sink == nil {
		return
	}
	finished := map[int64]bool{}
	for _, e := range c.facts.Sink {
		if e.Job == c.job && e.Finished {
			finished[e.At.UnixMilli()] = true
		}
	}
	seen := 0
	for _, t := range counted {
		if finished[t.Tick.UnixMilli()] {
			seen++
		}
	}
	if said > seen {
		c.lie(figure, said, fmt.Sprintf("the sink has seen %d finish", seen))
	}
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "none"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}
