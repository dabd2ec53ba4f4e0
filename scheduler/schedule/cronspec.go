package schedule

import (
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cron reads five to seven fields.
func (p *specParser) cron(opts Options) (Schedule, error) {
	words, err := p.columns()
	if err != nil {
		return nil, err
	}
	z := &zoned{loc: opts.Location, dst: opts.DST, text: p.fields()}
	fields, err := p.fieldsOf(words)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		if f.hashed {
			z.name = opts.Name
		}
	}
	spec, err := newCivilSpec(fields)
	if err != nil {
		return nil, p.fail(words[0].pos, "is not a cron spec: %v", err)
	}
	z.spec = spec
	if _, ok := spec.next(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - 1); !ok {
		return nil, p.fail(words[domField].pos, "never ticks: none of its months has such a day; write one that exists")
	}
	return z, nil
}

// fieldsOf reads the columns.
func (p *specParser) fieldsOf(words []word) (fields [numFields]field, err error) {
	for i, kind := range fieldKinds {
		if fields[i], err = p.field(words[i], kind); err != nil {
			return fields, err
		}
	}
	return fields, nil
}

// fields reads the spec once more, for whoever explains it: they are larger than
// all else that a job is made of.
func (z *zoned) fields() [numFields]field {
	p := &specParser{spec: z.text, words: splitWords(z.text), name: z.name}
	words, _ := p.columns() // it was read before
	fields, _ := p.fieldsOf(words)
	return fields
}

// fields is what is left of the spec after its prefix.
func (p *specParser) fields() string {
	texts := make([]string, len(p.words))
	for i, w := range p.words {
		texts[i] = w.text
	}
	text := strings.Join(texts, " ")
	if text == p.spec {
		return p.spec // as a rule, and then it is kept once
	}
	return text
}

// columns are the words of the spec, one for each field.
func (p *specParser) columns() ([]word, error) {
	const advice = "write 5 (minute hour day-of-month month day-of-week), 6 with seconds in front, or 7 with years at the end as well"
	switch n := len(p.words); {
	case n < numFields-2:
		return nil, p.fail(p.words[0].pos, "has %d fields: %s", n, advice)
	case n == numFields-2:
		return slices.Concat([]word{{text: "0"}}, p.words, []word{{text: "*"}}), nil
	case n == numFields-1:
		return slices.Concat(p.words, []word{{text: "*"}}), nil
	case n > numFields:
		return nil, p.fail(p.words[numFields].pos, "has %d fields: %s", n, advice)
	}
	return p.words, nil
}

// A civilSpec is a cron spec on a clock that never jumps. Its times are civil
// seconds: what Unix time would be if the wall clock showed UTC.
//
// robfig/cron reads and steps it. Its handling of zones is never used: around
// a change of the clocks it ticks on wrong days and leaves days out. Where
// there is a filter, that one knows the days, and robfig/cron the time of day.
type civilSpec struct {
	spec cron.SpecSchedule
	days *dayFilter // nil: spec knows the days
}

func newCivilSpec(fields [numFields]field) (civilSpec, error) {
	var texts [numFields]string
	for i, f := range fields {
		texts[i] = f.plain()
	}
	days := newDayFilter(fields)
	if days != nil {
		texts[domField], texts[monthField], texts[dowField] = "*", "*", "*"
	}
	spec, err := parseRobfig(strings.Join(texts[:yearField], " "))
	return civilSpec{spec, days}, err
}

func parseRobfig(fields string) (cron.SpecSchedule, error) {
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := parser.Parse("TZ=UTC " + fields)
	if err != nil {
		return cron.SpecSchedule{}, err
	}
	return *s.(*cron.SpecSchedule), nil
}

// next returns the first matching civil second after the given one; false if
// there is none within ten years or, with a filter, none at all.
func (c *civilSpec) next(civil int64) (int64, bool) {
	if c.days != nil {
		return c.nextOnDays(civil)
	}
	t := time.Unix(civil, 0).UTC()
	next := c.spec.Next(t)
	if next.IsZero() {
		// It gives up after five calendar years, but a 29 February may be eight
		// years away.
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

// everyHour tells whether the spec's hour field takes all hours.
func (c *civilSpec) everyHour() bool {
	const all = 1<<24 - 1
	return c.spec.Hour&all == all
}
