package schedule

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func newTestCalendar(t *testing.T, zone *time.Location, days ...string) *Calendar {
	t.Helper()
	c := NewCalendar("holidays", zone)
	for _, d := range days {
		if err := c.Add(d); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestCalendarDays(t *testing.T) {
	t.Parallel()
	c := newTestCalendar(t, nil, "2026-12-28..2026-12-30", "*-12-25", "*-12-30..*-01-02", "*-02-29", "2026-07-14", "2026-07-14..2026-07-15")
	daily := mustParse(t, "0 12 * * *", Options{})
	s, err := Exclude(daily, nil, c)
	if err != nil {
		t.Fatal(err)
	}
	for day := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC); day.Year() < 2030; day = day.AddDate(0, 0, 1) {
		date := day.Format(time.DateOnly)
		want := !slices.Contains([]string{"01-01", "01-02", "12-25", "12-30", "12-31", "02-29"}, date[5:]) &&
			!slices.Contains([]string{"2026-12-28", "2026-12-29", "2026-07-14", "2026-07-15"}, date)
		if got := s.Next(day.Add(-time.Nanosecond)).Equal(day); got != want {
			t.Errorf("%s: ticks is %v, want %v", date, got, want)
		}
	}
}

func TestCalendarRefusesDays(t *testing.T) {
	t.Parallel()
	for days, says := range map[string]string{
		"":                       "is not a day",
		"2026-02-30":             "is not a day",
		"25.12.2026":             "*-12-25 for every year",
		"2026-12-25T00:00:00Z":   "is not a day",
		"*-13-01":                "is not a day",
		"*-02-30":                "is not a day",
		"1969-12-31":             "write 1970 to 2199",
		"2200-01-01":             "write 1970 to 2199",
		"2026-12-25..":           "is not a day",
		"2026-12-25..2026-12-24": "write 2026-12-24..2026-12-25",
		"2026-12-25..*-12-26":    "both days with a year, or both with *",
		"*-02-29..*-03-02":       "*-03-01",
		"2026-12-25 - 26":        "is not a day",
	} {
		if err := NewCalendar("c", nil).Add(days); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one with %q", days, err, says)
		}
	}
}

// Days are those of the calendar's zone, else of the spec's, else of the job's.
func TestCalendarZones(t *testing.T) {
	t.Parallel()
	tokyo := mustZone(t, "Asia/Tokyo")
	for _, tt := range []struct {
		name, spec      string
		calendar, other *time.Location
		first           string
	}{
		{"spec's prefix", "TZ=Asia/Tokyo 0 2 * * *", nil, nil, "2026-12-25T17:00:00Z"}, // 02:00 on 26 December in Tokyo
		{"calendar's", "TZ=Asia/Tokyo 0 2 * * *", time.UTC, nil, "2026-12-23T17:00:00Z"},
		{"job's", "@every 24h offset 17h", nil, tokyo, "2026-12-25T17:00:00Z"},
		{"none", "@every 24h offset 17h", nil, nil, "2026-12-24T17:00:00Z"},
	} {
		s, err := Exclude(mustParse(t, tt.spec, Options{}), tt.other, newTestCalendar(t, tt.calendar, "2026-12-25"))
		if err != nil {
			t.Fatal(err)
		}
		from := "2026-12-24T16:00:00Z"
		if tt.name == "calendar's" {
			from = "2026-12-23T16:00:00Z"
		}
		if got := s.Next(instant(t, from)); got != instant(t, tt.first) {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.first)
		}
	}
}

func TestSchedulesOfWhichNothingIsLeft(t *testing.T) {
	t.Parallel()
	all := newTestCalendar(t, nil, "*-01-01..*-12-31")
	christmas := newTestCalendar(t, nil, "*-12-25")
	for name, build := range map[string]func() (Schedule, error){
		"every day excluded": func() (Schedule, error) { return Exclude(Every{Interval: time.Second}, nil, all) },
		"its only day excluded": func() (Schedule, error) {
			return Exclude(mustParse(t, "0 0 25 12 *", Options{}), nil, christmas)
		},
		"one of two, both gone": func() (Schedule, error) {
			return Exclude(Union(mustParse(t, "@at 2026-12-25T00:00:00Z", Options{}), mustParse(t, "0 0 25 12 *", Options{})), nil, christmas)
		},
		"bounds around nothing": func() (Schedule, error) {
			return Between(mustParse(t, "0 0 25 12 *", Options{}), instant(t, "2026-01-01T00:00:00Z"), instant(t, "2026-12-25T00:00:00Z"))
		},
		"end before the first": func() (Schedule, error) {
			return Between(At{instant(t, "2026-01-01T00:00:00Z")}, time.Time{}, instant(t, "2026-01-01T00:00:00Z"))
		},
	} {
		if _, err := build(); !errors.Is(err, errNoTicks) {
			t.Errorf("%s: error %v, want errNoTicks", name, err)
		}
	}
	if _, err := Between(Every{Interval: time.Second}, instant(t, "2026-01-02T00:00:00Z"), instant(t, "2026-01-01T00:00:00Z")); err == nil || !strings.Contains(err.Error(), "later end") {
		t.Errorf("bounds the wrong way round: %v", err)
	}
	past, err := Between(Every{Interval: time.Hour}, time.Time{}, instant(t, "2020-01-01T00:00:00Z"))
	if err != nil || !past.Next(instant(t, "2026-01-01T00:00:00Z")).IsZero() {
		t.Errorf("bounds in the past: %v", err)
	}
}

func TestExcludedSchedulesEnd(t *testing.T) {
	t.Parallel()
	s, err := Exclude(mustParse(t, "0 0 24-25 12 *", Options{}), nil, newTestCalendar(t, nil, "*-12-25"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for at := s.Next(instant(t, "2190-01-01T00:00:00Z")); !at.IsZero(); at = s.Next(at) {
		count++
	}
	if count != 10 {
		t.Errorf("%d ticks from 2190 on, want one a year until 2199", count)
	}
}

func TestBoundsAreInclusiveAndExclusive(t *testing.T) {
	t.Parallel()
	start, end := instant(t, "2026-12-01T00:00:00Z"), instant(t, "2026-12-01T03:00:00Z")
	s, err := Between(mustParse(t, "@hourly", Options{}), start, end)
	if err != nil {
		t.Fatal(err)
	}
	want := []Planned{
		{Tick: start, Note: "first tick, starts at 2026-12-01T00:00:00Z"},
		{Tick: start.Add(time.Hour)},
		{Tick: start.Add(2 * time.Hour), Note: "last tick, ends at 2026-12-01T03:00:00Z"},
	}
	if got := Preview(s, time.Time{}, 10); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestUnion(t *testing.T) {
	t.Parallel()
	s := Union(
		mustParse(t, "0 2 * * *", Options{}), mustParse(t, "0 */2 24 12 *", Options{}),
		mustParse(t, "@at 2026-12-24T02:00:00Z", Options{}), Every{Interval: 6 * time.Hour},
	)
	var got []string
	for at := s.Next(instant(t, "2026-12-23T20:00:00Z")); len(got) < 8; at = s.Next(at) {
		got = append(got, at.Format("02 15:04"))
	}
	want := []string{"24 00:00", "24 02:00", "24 04:00", "24 06:00", "24 08:00", "24 10:00", "24 12:00", "24 14:00"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if !Union(At{instant(t, "2026-01-01T00:00:00Z")}, At{instant(t, "2025-01-01T00:00:00Z")}).Next(instant(t, "2026-06-01T00:00:00Z")).IsZero() {
		t.Error("a union of schedules that have ended goes on")
	}
}

func TestPreviewOfExclusions(t *testing.T) {
	t.Parallel()
	holidays := newTestCalendar(t, nil, "2026-12-25..2026-12-26")
	paris := mustZone(t, "Europe/Paris")
	daily := mustParse(t, "0 2 * * *", Options{Location: paris})
	excluded, err := Exclude(daily, nil, holidays)
	if err != nil {
		t.Fatal(err)
	}
	from := instant(t, "2026-12-24T12:00:00Z")
	christmas, boxing, after := instant(t, "2026-12-25T01:00:00Z"), instant(t, "2026-12-26T01:00:00Z"), instant(t, "2026-12-27T01:00:00Z")
	for name, tt := range map[string]struct {
		got, want []Planned
	}{
		"without": {Preview(excluded, from, 1), []Planned{{Tick: after}}},
		"with": {preview(excluded, from, 3), []Planned{
			{Tick: christmas, Note: "excluded by holidays", Excluded: true},
			{Tick: boxing, Note: "excluded by holidays", Excluded: true},
			{Tick: after},
		}},
		"union with a free one": {preview(Union(excluded, At{boxing}), from, 2), []Planned{
			{Tick: christmas, Note: "excluded by holidays", Excluded: true}, {Tick: boxing},
		}},
		"nothing to exclude": {preview(daily, from, 1), []Planned{{Tick: christmas}}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			t.Errorf("%s: got %v, want %v", name, tt.got, tt.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	paris := mustZone(t, "Europe/Paris")
	nightly, saturdays := mustParse(t, "0 2 * * *", Options{Location: paris}), mustParse(t, "@every 36h", Options{})
	both, err := Exclude(Union(nightly, saturdays), paris, newTestCalendar(t, nil, "*-12-25"), NewCalendar("freeze", nil))
	if err != nil {
		t.Fatal(err)
	}
	bounded, err := Between(both, instant(t, "2026-12-01T00:00:00Z"), instant(t, "2027-12-01T00:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	one, err := Exclude(nightly, paris, newTestCalendar(t, nil, "*-12-25"))
	if err != nil {
		t.Fatal(err)
	}
	const every = "every 36 hours, aligned to 1970-01-01 00:00:00 UTC"
	for want, s := range map[string]Schedule{
		"At 02:00 every day, Europe/Paris; and " + every:                                                                                                             Union(nightly, saturdays),
		"At 02:00 every day, Europe/Paris; and " + every + "; except by calendars holidays, freeze":                                                                  both,
		"At 02:00 every day, Europe/Paris; except by calendar holidays; and " + every:                                                                                Union(one, saturdays),
		"At 02:00 every day, Europe/Paris; and " + every + "; except by calendars holidays, freeze; from 2026-12-01 00:00:00 UTC on; before 2027-12-01 00:00:00 UTC": bounded,
		"By a schedule of type schedule.silent":                                                                                                                      silent{},
	} {
		if got := Describe(s); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

type silent struct{}

func (silent) Next(time.Time) time.Time { return time.Time{} }

// preview is Preview with the ticks that calendars take away.
func preview(s Schedule, from time.Time, n int) []Planned {
	all := []Planned{}
	for p := range Coming(s, from, true) {
		if all = append(all, p); len(all) == n {
			break
		}
	}
	return all
}
