package schedule

import "time"

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
