package schedule

import (
	"cmp"
	"time"
)

// An event is a time without ticks: from a civil time on for some days, and then
// for some seconds. It is published like this.
type event struct {
	Start    civilTime `json:"start"`
	Zone     zoneName  `json:"zone,omitzero"` // zero: the calendar's
	Days     int       `json:"days,omitempty"`
	Seconds  int64     `json:"seconds,omitempty"`
	Interval int       `json:"interval,omitempty"` // in years; 0: it never comes again
	Count    int       `json:"count,omitempty"`    // 0: without end
	Until    civilTime `json:"until,omitzero"`     // the last start; zero: without end
}

// starts returns when it starts, up to lastYear. Years without a 29 February do
// not count.
func (e event) starts() []time.Time {
	if e.Interval <= 0 {
		return []time.Time{e.Start.Time}
	}
	var all []time.Time
	for year := e.Start.Year(); year <= lastYear && (e.Count == 0 || len(all) < e.Count); year += e.Interval {
		start := inYear(e.Start.Time, year)
		if !e.Until.IsZero() && start.After(e.Until.Time) {
			break
		}
		if start.Day() == e.Start.Day() {
			all = append(all, start)
		}
	}
	return all
}

// lasts is the range that begins at a civil time: in Unix seconds, or civil ones if
// the event has no zone.
func (e event) lasts(start time.Time) timeRange {
	zone := cmp.Or(e.Zone.Location, time.UTC)
	begin := time.Date(start.Year(), start.Month(), start.Day(), start.Hour(), start.Minute(), start.Second(), 0, zone)
	return timeRange{begin.Unix(), begin.AddDate(0, 0, e.Days).Unix() + e.Seconds}
}

// inYear moves a civil time to another year; 29 February may become 1 March.
func inYear(t time.Time, year int) time.Time {
	return time.Date(year, t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}

// A civilTime is what a wall clock shows, in UTC.
type civilTime struct{ time.Time }

const civilLayout = `"2006-01-02T15:04:05"`

// MarshalJSON writes no zone.
func (t civilTime) MarshalJSON() ([]byte, error) { return []byte(t.Format(civilLayout)), nil }

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *civilTime) UnmarshalJSON(text []byte) (err error) {
	t.Time, err = time.Parse(civilLayout, string(text))
	return err
}
