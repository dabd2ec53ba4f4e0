package schedule

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cron reads five to seven fields.
func (p *specParser) cron(opts Options) (Schedule, error) {
	fields, err := p.fields()
	if err != nil {
		return nil, p.command(err)
	}
	first, last := p.words[0], p.words[len(p.words)-1]
	z := &zoned{spec: newCivilSpec(fields), text: p.spec[first.pos : last.pos+len(last.text)], loc: opts.Location, dst: opts.DST}
	if slices.ContainsFunc(fields[:], func(f field) bool { return f.hashed }) {
		z.name = p.name
	}
	if _, ok := z.spec.next(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1); !ok {
		return nil, p.fail(fields[domField].pos, "never ticks: none of its months has such a day; write one that exists")
	}
	return z, nil
}

// fields reads the spec once more, for whoever explains it: they are larger than
// all else that a job is made of.
func (z *zoned) fields() [numFields]field {
	p := &specParser{spec: z.text, words: splitWords(z.text), name: z.name}
	fields, _ := p.fields() // it was read before
	return fields
}

// fields reads the words of the spec, one for each field.
func (p *specParser) fields() (fields [numFields]field, err error) {
	const advice = "write 5 (minute hour day-of-month month day-of-week), 6 with seconds in front, or 7 with years at the end as well"
	words := p.words
	switch n := len(words); {
	case n < numFields-2:
		return fields, p.fail(words[0].pos, "has %d fields: %s", n, advice)
	case n > numFields:
		return fields, p.fail(words[numFields].pos, "has %d fields: %s", n, advice)
	case n == numFields-2:
		words = slices.Insert(slices.Clone(words), 0, word{text: "0"})
	}
	if len(words) < numFields {
		words = append(slices.Clip(words), word{text: "*"})
	}
	for i, kind := range fieldKinds {
		if fields[i], err = p.field(words[i], kind); err != nil {
			return fields, err
		}
	}
	return fields, nil
}

// command returns err or, if the words are those of a line of a crontab, that they go on behind
// the five fields.
func (p *specParser) command(err error) error {
	if len(p.words) <= numFields-2 {
		return err
	}
	five, next := specParser{spec: p.spec, words: p.words[:numFields-2], name: p.name}, p.words[numFields-2]
	_, day := p.field(next, fieldKinds[dowField])
	if _, wrong := five.fields(); wrong != nil || day == nil {
		return err
	}
	return p.fail(next.pos, "has %q after its five fields: %s; as the day of the week, with seconds in front, it is not valid: write 0-6 or %s",
		next.text, noCommand, strings.Join(fieldKinds[dowField].names, " "))
}

// A civilSpec is a cron spec on a clock that never jumps. Its times are civil
// seconds: what Unix time would be if the wall clock showed UTC.
//
// robfig/cron steps it. Its handling of zones is never used: around a change of
// the clocks it ticks on wrong days and leaves days out. Where there is a filter,
// that one knows the days, and robfig/cron the time of day.
type civilSpec struct {
	spec cron.SpecSchedule
	days *dayFilter // nil: spec knows the days
}

func newCivilSpec(f [numFields]field) civilSpec {
	c := civilSpec{days: newDayFilter(f), spec: cron.SpecSchedule{
		Second: f[secondField].bits(), Minute: f[minuteField].bits(), Hour: f[hourField].bits(),
		Dom: f[domField].bits(), Month: f[monthField].bits(), Dow: f[dowField].bits(), Location: time.UTC,
	}}
	if c.days != nil {
		c.spec.Dom, c.spec.Month, c.spec.Dow = math.MaxUint64, math.MaxUint64, math.MaxUint64
	}
	return c
}

// next returns the first matching civil second after the given one; false if there is none
// within ten years or, with a filter, none at all.
func (c *civilSpec) next(civil int64) (int64, bool) {
	if c.days != nil {
		return c.nextOnDays(civil)
	}
	t := time.Unix(civil, 0).UTC()
	next := c.spec.Next(t)
	if next.IsZero() {
		// cron stops after five calendar years, but a 29 February may be eight years away.
		next = c.spec.Next(time.Date(t.Year()+5, 12, 31, 23, 59, 59, 0, time.UTC))
	}
	return next.Unix(), !next.IsZero()
}

// nextOnDays asks for the time of day once, or twice if today's are over.
func (c *civilSpec) nextOnDays(civil int64) (int64, bool) {
	for day := time.Unix(civil+1, 0).UTC().Truncate(24*time.Hour).Unix() / secondsPerDay; ; day++ {
		var ok bool
		if day, ok = c.days.next(day); !ok {
			return 0, false
		}
		begin := day * secondsPerDay
		next := c.spec.Next(time.Unix(max(civil, begin-1), 0).UTC()).Unix()
		if next < begin+secondsPerDay {
			return next, true
		}
	}
}

func (c *civilSpec) matches(civil int64) bool {
	next, ok := c.next(civil - 1)
	return ok && next == civil
}

// everyHour reports whether the hour field has all hours.
func (c *civilSpec) everyHour() bool {
	const all = 1<<24 - 1
	return c.spec.Hour&all == all
}
