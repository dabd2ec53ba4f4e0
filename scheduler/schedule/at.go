package schedule

import "time"

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
