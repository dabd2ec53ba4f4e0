package scheduler

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// cron reads five or six fields.
func (p *specParser) cron(opts ScheduleOptions) (Schedule, error) {
	words := p.words
	if len(words) == numFields-1 {
		words = append([]word{{text: "0", pos: words[0].pos}}, words...)
	}
	switch {
	case len(words) < numFields:
		return nil, p.fail(words[0].pos, "has %d fields: write 5 (minute hour day-of-month month day-of-week), or 6 with seconds in front", len(words))
	case len(words) > numFields:
		return nil, p.fail(words[numFields].pos, "has %d fields: write 5, or 6 with seconds in front; there is none for years", len(words))
	}
	z := &zoned{loc: opts.Location, dst: opts.DST}
	var texts [numFields]string
	for i, kind := range fieldKinds {
		f, err := p.field(words[i], kind)
		if err != nil {
			return nil, err
		}
		z.fields[i], texts[i] = f, words[i].text
	}
	spec, err := parseCivil(texts)
	if err != nil {
		return nil, p.fail(words[0].pos, "is not a cron spec: %v", err)
	}
	z.spec = spec
	if _, ok := spec.next(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix()); !ok {
		return nil, p.fail(words[domField].pos, "never ticks: none of its months has such a day; write one that exists")
	}
	return z, nil
}

// A civilSpec is a cron spec on a clock that never jumps. Its times are civil
// seconds: what Unix time would be if the wall clock showed UTC.
//
// robfig/cron reads and steps it. Its handling of zones is never used: around
// a change of the clocks it ticks on wrong days and leaves days out.
type civilSpec struct{ spec *cron.SpecSchedule }

func parseCivil(fields [numFields]string) (civilSpec, error) {
	parser := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	s, err := parser.Parse("TZ=UTC " + strings.Join(fields[:], " "))
	if err != nil {
		return civilSpec{}, err
	}
	return civilSpec{s.(*cron.SpecSchedule)}, nil
}

// next returns the first matching civil second after the given one; false if
// there is none within ten years.
func (c civilSpec) next(civil int64) (int64, bool) {
	t := time.Unix(civil, 0).UTC()
	next := c.spec.Next(t)
	if next.IsZero() {
		// It gives up after five calendar years, but a 29 February may be eight
		// years away.
		next = c.spec.Next(time.Date(t.Year()+5, 12, 31, 23, 59, 59, 0, time.UTC))
	}
	return next.Unix(), !next.IsZero()
}

func (c civilSpec) matches(civil int64) bool {
	next, ok := c.next(civil - 1)
	return ok && next == civil
}

// everyHour tells whether the spec's hour field takes all hours.
func (c civilSpec) everyHour() bool {
	const all = 1<<24 - 1
	return c.spec.Hour&all == all
}
