package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestCompoundAgainstWalk compares unions with calendars and bounds with a walk
// over the minutes around every change of the clocks in 2026 and 2027, in every
// zone that has one.
func TestCompoundAgainstWalk(t *testing.T) {
	t.Parallel()
	changes, _ := changesByZones(t, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC))
	for names, at := range changes {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			name, _, _ := strings.Cut(names, "+")
			for _, change := range at {
				w := newWalk(t, name, change, 60, 50*time.Hour)
				for _, c := range newCompounds(w, change) {
					c.compare(t, w)
				}
			}
		})
	}
}

// A compound is a schedule put together of others, and what the walk needs to
// know of it.
type compound struct {
	specs      []string
	every      time.Duration
	dates      []string
	ics        string
	start, end time.Time
	// excluded reports whether a calendar holds a civil time, or an instant.
	excluded func(civil, at int64) bool
}

func newCompounds(w *walk, change time.Time) []compound {
	day := time.Unix(change.Unix()+offset(change.Add(-time.Second).In(w.loc)), 0).UTC().Truncate(24 * time.Hour)
	on := func(civil int64, first, days int) bool {
		into := civil - day.AddDate(0, 0, first).Unix()
		return into >= 0 && into < int64(days)*secondsPerDay
	}
	date := func(days int) string { return day.AddDate(0, 0, days).Format(time.DateOnly) }
	event := "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:%s\nDTEND:%s\nEND:VEVENT\nEND:VCALENDAR\n"
	const compact = "20060102T150405"
	return []compound{
		{
			specs: []string{"*/10 * * * *", "30 2 * * *"}, dates: []string{date(0)},
			excluded: func(civil, _ int64) bool { return on(civil, 0, 1) },
		},
		{
			specs: []string{"7 */2 * * *"}, every: 7 * time.Minute,
			dates:    []string{date(-1) + ".." + date(-1), "*-" + date(1)[5:]},
			start:    change.Add(-40 * time.Hour),
			excluded: func(civil, _ int64) bool { return on(civil, -1, 1) || on(civil, 1, 1) },
		},
		{ // on the wall clock, through the change
			specs: []string{"*/5 * * * *", "0 0 L * *"},
			ics:   fmt.Sprintf(event, day.Add(-time.Hour).Format(compact), day.Add(150*time.Minute).Format(compact)),
			end:   change.Add(33 * time.Hour),
			excluded: func(civil, _ int64) bool {
				return civil >= day.Unix()-3600 && civil < day.Unix()+150*60
			},
		},
		{ // in UTC, through the change
			specs: []string{"*/5 * * * *", "0 3 * * *"}, every: time.Hour,
			ics:   fmt.Sprintf(event, change.Add(-time.Hour).UTC().Format(compact+"Z"), change.Add(time.Hour).UTC().Format(compact+"Z")),
			start: change.Add(-2 * time.Hour), end: change.Add(2 * time.Hour),
			excluded: func(_, at int64) bool { return at >= change.Unix()-3600 && at < change.Unix()+3600 },
		},
	}
}

func (c compound) schedule(t *testing.T, loc *time.Location) Schedule {
	t.Helper()
	var all []Schedule
	for _, spec := range c.specs {
		all = append(all, mustParse(t, spec, Options{Location: loc}))
	}
	if c.every > 0 {
		all = append(all, Every{Interval: c.every})
	}
	calendar := NewCalendar("test", nil)
	for _, d := range c.dates {
		if err := calendar.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	if c.ics != "" {
		if err := calendar.AddICS(c.ics); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Exclude(Union(all...), loc, calendar)
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Between(s, c.start, c.end); err != nil {
		t.Fatal(err)
	}
	return s
}

func (c compound) compare(t *testing.T, w *walk) {
	t.Helper()
	wanted := map[int64]bool{}
	for _, spec := range c.specs {
		for _, at := range w.ticks(newMatcher(t, spec), DSTPolicy{}.WithDefaults()) {
			wanted[at] = true
		}
	}
	var want []int64
	for i := w.first; i < len(w.civil); i++ {
		at := w.start + int64(i)*w.unit
		ticks := wanted[at] || c.every > 0 && at%int64(c.every/time.Second) == 0
		early := !c.start.IsZero() && at < c.start.Unix()
		late := !c.end.IsZero() && at >= c.end.Unix()
		if ticks && !early && !late && !c.excluded(w.civil[i], at) {
			want = append(want, at)
		}
	}
	var got []int64
	s := c.schedule(t, w.loc)
	for at := s.Next(time.Unix(w.start+int64(w.first)*w.unit-1, 0)); !at.IsZero() && at.Unix() < w.start+int64(len(w.civil))*w.unit; at = s.Next(at) {
		got = append(got, at.Unix())
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v in %s, from %s:\n Next %v\n walk %v", c, w.loc, time.Unix(w.start, 0).UTC(), only(got, want, w.loc), only(want, got, w.loc))
	}
	if len(want) == 0 {
		t.Error("the walk has lost its subject")
	}
}
