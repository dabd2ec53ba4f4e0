// Package schedule says when a job is due.
//
// [Parse] reads a cron spec, "@every 5m" or "@at 2027-01-01T00:00:00Z". Schedules can be
// combined: [Union] has the ticks of several, [Exclude] removes the days of a [Calendar],
// and [Between] sets a start and an end. [Describe] describes a schedule in words, and
// [Preview] lists its next ticks.
//
// Ticks follow from the definition alone, so all replicas compute the same ones.
// [Definition] writes it as text, from which [ParseDefinition] makes an equal
// schedule elsewhere.
package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	_ "time/tzdata"
)

// A Schedule says when a job's ticks are. Every replica must compute the same
// ones, so a Schedule depends on nothing but its definition: not on the time
// zone of the machine, not on when the process started.
//
// Every cron.SpecSchedule of robfig/cron is a Schedule. Without a zone of its own it
// ticks in UTC. A cron.ConstantDelaySchedule is none: it counts from when it is asked;
// use [Every].
type Schedule interface {
	// Next returns the first tick strictly after the given instant, or the zero
	// Time if there is none. Ticks of this package's schedules are in UTC and
	// whole milliseconds, so equal ones are equal by ==.
	Next(after time.Time) time.Time
}

// Options complete a spec.
type Options struct {
	// Location is the zone of a cron spec, unless the spec names one. Default UTC;
	// time.Local is refused.
	Location *time.Location
	// DST says what happens to ticks when the clocks change.
	DST DSTPolicy
	// Name of the job, from which H is hashed.
	Name string
}

// WithDefaults returns a copy with defaults for the zero fields.
func (o Options) WithDefaults() Options {
	o.Location = cmp.Or(o.Location, time.UTC)
	o.DST = o.DST.WithDefaults()
	return o
}

// Validate reports invalid options.
func (o Options) Validate() error {
	if o.Location == time.Local {
		_, err := LoadZone("Local")
		return err
	}
	return o.DST.Validate()
}

// Parse reads a spec:
//
//	30 2 * * 1-5              minute, hour, day of month, month, day of week
//	*/10 30 2 * * mon-fri     the same with a field for seconds in front
//	0 30 2 * * * 2027-2029    and with one for years (1970 to 2199) at the end
//	@hourly @daily @midnight @weekly @monthly @yearly @annually
//	CRON_TZ=Europe/Paris 30 2 * * *    the zone overrides opts.Location; TZ= is the same
//	@every 90m                at the multiples of 90 minutes since 1970-01-01T00:00:00Z
//	@every 1h offset 5m       five minutes after these
//	@at 2027-01-01T00:00:00Z  once
//
// A field is a comma-separated list of values, ranges a-b, and either with a step a-b/n;
// a/n runs from a to the field's end, * is every value, and ? is * for the two day fields.
// Months and days of the week also have English names of three letters; Sunday is 0 or 7. A
// range may wrap past the end of its field, except in years: 22-2, fri-mon, nov-feb/2. Days
// of the month wrap after 31.
//
// The field for the day of the month may list
//
//	L      the last day           L-3    the third before the last
//	15W    the weekday (Monday to Friday) nearest to day 15 in the same month
//	LW     the last weekday       L-3W   the weekday nearest to the third before the last
//
// and that for the day of the week
//
//	fri#2  the second Friday      friL   the last Friday; 5#2 and 5L are the same
//
// Months without such a day (31W, mon#5) have no tick for it.
//
// H is chosen by a hash of opts.Name and the field, so that many jobs with "H H * * *"
// spread over the day, each at a fixed time. H(0-29) chooses from a range, H/15 the start
// of the steps within the first 15 minutes. Days of the month are chosen from 1-28.
//
// A day matches if both day fields match. If neither is * (or ?), one of them is enough. L,
// W, # and H count like values there: "0 0 L * fri" ticks on the last day of the month and
// on every Friday.
//
// Cron specs tick on whole seconds of the zone's wall clock; DSTPolicy says what happens
// when that jumps. An @every interval is at least one second, in whole milliseconds, and
// has no zone. An @at or a year in the past is a schedule without a next tick, not an
// error: a configuration stays valid after its last tick.
//
// Specs that never tick on any date are refused ("0 0 31W 2 *"), like those that
// robfig/cron would silently misread. The error is a *SpecError, unless the options are
// wrong.
func Parse(spec string, opts Options) (Schedule, error) {
	opts = opts.WithDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &specParser{spec: spec, words: splitWords(spec), name: opts.Name}
	zone, err := p.takeZone()
	if err != nil {
		return nil, err
	}
	if len(p.words) == 0 {
		return nil, p.fail(len(spec), `is empty: write 5 fields such as "0 2 * * *", or "@every 5m"`)
	}
	opts.Location = cmp.Or(zone, opts.Location)
	switch first := p.words[0].text; {
	case zone != nil && (first == everyKeyword || first == atKeyword):
		return nil, p.fail(0, "%s knows no time zone: remove the prefix", first)
	case first == everyKeyword:
		return p.every()
	case first == atKeyword:
		return p.at()
	case strings.HasPrefix(first, "@"):
		return p.descriptor(opts)
	}
	return p.cron(opts)
}

// A SpecError says why a spec is invalid, and what to write instead.
type SpecError struct {
	Spec string
	Pos  int // byte offset of the wrong word in Spec
	Msg  string
}

func (e *SpecError) Error() string { return fmt.Sprintf("schedule %q %s", e.Spec, e.Msg) }

// A word is a part of a spec between blanks.
type word struct {
	text string
	pos  int // byte offset in the spec
}

// splitWords returns the words before a comment, which begins with a word that begins with #, as in
// YAML.
func splitWords(spec string) []word {
	var words []word
	end := 0
	for text := range strings.FieldsSeq(spec) {
		if text[0] == '#' {
			break
		}
		pos := end + strings.Index(spec[end:], text)
		words = append(words, word{text, pos})
		end = pos + len(text)
	}
	return words
}

// A specParser reads one spec; words are those not yet consumed.
type specParser struct {
	spec  string
	words []word
	name  string // of the job, for H
}

func (p *specParser) fail(pos int, format string, args ...any) error {
	return &SpecError{Spec: p.spec, Pos: pos, Msg: fmt.Sprintf(format, args...)}
}

// takeZone consumes a leading CRON_TZ=zone or TZ=zone; without one it returns nil.
func (p *specParser) takeZone() (*time.Location, error) {
	if len(p.words) == 0 {
		return nil, nil
	}
	w := p.words[0]
	key, name, found := strings.Cut(w.text, "=")
	if !found || (key != "CRON_TZ" && key != "TZ") {
		return nil, nil
	}
	p.words = p.words[1:]
	zone, err := LoadZone(name)
	if err != nil {
		return nil, p.fail(w.pos, "has a bad prefix: %v", err)
	}
	return zone, nil
}

// descriptors are the fields of words with an @.
var descriptors = map[string]string{
	"@yearly":   "0 0 1 1 *",
	"@annually": "0 0 1 1 *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@daily":    "0 0 * * *",
	"@midnight": "0 0 * * *",
	"@hourly":   "0 * * * *",
}

// noCommand is advice about words after a schedule, as in a crontab.
const noCommand = "remove it; a command belongs in the params of a job"

func (p *specParser) descriptor(opts Options) (Schedule, error) {
	w := p.words[0]
	fields, ok := descriptors[w.text]
	if !ok {
		return nil, p.fail(w.pos, "has an unknown word %s: write @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, @every DURATION or @at TIME", w.text)
	}
	if len(p.words) > 1 {
		return nil, p.fail(p.words[1].pos, "has %q after %s: %s", p.words[1].text, w.text, noCommand)
	}
	return (&specParser{spec: fields, words: splitWords(fields), name: p.name}).cron(opts)
}

const atKeyword = "@at"

// At is the Schedule of an @at spec: one tick, at Time to the millisecond.
type At struct{ Time time.Time }

// Next implements Schedule.
func (a At) Next(after time.Time) time.Time {
	tick := time.UnixMilli(a.Time.UnixMilli()).UTC()
	if !tick.After(after) {
		return time.Time{}
	}
	return tick
}

func (p *specParser) at() (Schedule, error) {
	const example = "2027-01-01T00:00:00Z"
	switch {
	case len(p.words) == 1:
		return nil, p.fail(p.words[0].pos, `has no time: write "@at %s"`, example)
	case len(p.words) > 2:
		return nil, p.fail(p.words[2].pos, `has more after the time: write "@at %s", with a T and no blank within`, example)
	}
	w := p.words[1]
	t, err := time.Parse(time.RFC3339, w.text)
	if err != nil {
		return nil, p.fail(w.pos, "has a bad time %q: write RFC 3339 such as %s", w.text, example)
	}
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		return nil, p.fail(w.pos, "has a time of %s: write whole milliseconds", w.text)
	}
	return At{t.UTC()}, nil
}

const (
	everyKeyword = "@every"
	everyMinimum = time.Second
)

// Every is the Schedule of an @every spec: Offset after each multiple of Interval since the
// Unix epoch, so all replicas tick at the same instants. Both are in whole milliseconds. An
// Interval below one never ticks.
type Every struct {
	Interval time.Duration
	Offset   time.Duration
}

// Next implements Schedule.
func (e Every) Next(after time.Time) time.Time {
	step, offset := e.Interval.Milliseconds(), e.Offset.Milliseconds()
	if step <= 0 {
		return time.Time{}
	}
	since := after.UnixMilli() - offset // rounds down
	into := since % step
	if into < 0 {
		into += step
	}
	return time.UnixMilli(since - into + step + offset).UTC()
}

// every reads "@every INTERVAL" and "@every INTERVAL offset OFFSET".
func (p *specParser) every() (Schedule, error) {
	words := p.words
	switch {
	case len(words) == 1:
		return nil, p.fail(words[0].pos, `has no interval: write "@every 5m"`)
	case len(words) == 3 || len(words) > 4, len(words) == 4 && words[2].text != "offset":
		return nil, p.fail(words[2].pos, `has more after the interval: write "@every 1h30m" without blanks, or "@every 1h offset 5m"`)
	}
	var e Every
	var err error
	if e.Interval, err = p.duration(words[1]); err != nil {
		return nil, err
	}
	if e.Interval < everyMinimum {
		return nil, p.fail(words[1].pos, "has an interval of %s: write at least %s", e.Interval, everyMinimum)
	}
	if len(words) == 2 {
		return e, nil
	}
	if e.Offset, err = p.duration(words[3]); err != nil {
		return nil, err
	}
	if e.Offset < 0 || e.Offset >= e.Interval {
		return nil, p.fail(words[3].pos, "has an offset of %s: write one from 0s to below the interval", e.Offset)
	}
	return e, nil
}

func (p *specParser) duration(w word) (time.Duration, error) {
	d, err := time.ParseDuration(w.text)
	switch {
	case err != nil:
		return 0, p.fail(w.pos, "has a bad duration %q: write hours, minutes and seconds such as 24h, 1h30m or 90s", w.text)
	case d%time.Millisecond != 0:
		return 0, p.fail(w.pos, "has a duration of %s: write whole milliseconds", d)
	}
	return d, nil
}

// Union ticks whenever one of the schedules does, once per instant.
func Union(schedules ...Schedule) Schedule {
	if len(schedules) == 1 {
		return schedules[0]
	}
	return union(slices.Clone(schedules))
}

type union []Schedule

// Next implements Schedule.
func (u union) Next(after time.Time) time.Time {
	var first time.Time
	for _, s := range u {
		if tick := s.Next(after); first.IsZero() || !tick.IsZero() && tick.Before(first) {
			first = tick
		}
	}
	return first
}

// plan is excluded if every member with the tick excludes it.
func (u union) plan(after time.Time, excluded bool) Planned {
	var first Planned
	for _, s := range u {
		p := plan(s, after, excluded)
		same := p.Tick.Equal(first.Tick)
		switch {
		case p.Tick.IsZero() || same && p.Excluded:
		case first.Tick.IsZero() || p.Tick.Before(first.Tick) || same && first.Excluded:
			first = p
		case same && !strings.Contains(first.Note, p.Note):
			first.note(p.Note)
		}
	}
	return first
}

// errNoTicks refuses a schedule without any tick.
var errNoTicks = errors.New("the schedule never ticks")

// Between has the ticks of s from start on and before end; a zero time is no bound. The
// range may lie in the past, so a configuration stays valid after its last tick. A range
// without a tick is an error.
func Between(s Schedule, start, end time.Time) (Schedule, error) {
	if !start.IsZero() && !end.IsZero() && !start.Before(end) {
		return nil, fmt.Errorf("the end %s is not after the start %s: write a later end", formatBound(end), formatBound(start))
	}
	b := between{s, start, end}
	if b.Next(time.Time{}).IsZero() {
		return nil, fmt.Errorf("%w between its start and its end: write others, or another schedule", errNoTicks)
	}
	return b, nil
}

type between struct {
	Schedule
	start, end time.Time
}

// Next implements Schedule.
func (b between) Next(after time.Time) time.Time {
	tick := b.Schedule.Next(b.from(after))
	if !b.has(tick) {
		return time.Time{}
	}
	return tick
}

// from moves after to just before the start.
func (b between) from(after time.Time) time.Time {
	if after.Before(b.start) {
		return b.start.Add(-time.Nanosecond)
	}
	return after
}

func (b between) has(tick time.Time) bool { return b.end.IsZero() || tick.Before(b.end) }

func (b between) plan(after time.Time, excluded bool) Planned {
	p := plan(b.Schedule, b.from(after), excluded)
	switch {
	case !b.has(p.Tick):
		return Planned{}
	case p.Excluded:
		return p
	}
	if !b.start.IsZero() && p.Tick.Equal(b.Next(time.Time{})) {
		p.note("first tick, starts at " + formatBound(b.start))
	}
	if !b.end.IsZero() && b.Next(p.Tick).IsZero() {
		p.note("last tick, ends at " + formatBound(b.end))
	}
	return p
}

// formatBound formats the start or end of a schedule.
func formatBound(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999Z07:00") }
