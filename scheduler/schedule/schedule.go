package schedule

import (
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // for images without zoneinfo
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
	if o.Location == nil {
		o.Location = time.UTC
	}
	o.DST = o.DST.WithDefaults()
	return o
}

// Validate reports invalid options.
func (o Options) Validate() error {
	if o.Location == time.Local {
		return errLocalZone
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
	switch first := p.words[0]; {
	case first.text == everyKeyword || first.text == atKeyword:
		if zone != nil {
			return nil, p.fail(0, "%s knows no time zone: remove the prefix", first.text)
		}
		if first.text == atKeyword {
			return p.at()
		}
		return p.every()
	case zone != nil:
		opts.Location = zone
	}
	if strings.HasPrefix(p.words[0].text, "@") {
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
