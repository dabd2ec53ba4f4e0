package schedule

import (
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	firstDefault = DSTPolicy{}
	skipGap      = DSTPolicy{Gap: DSTGapSkip}
	bothOverlap  = DSTPolicy{Overlap: DSTOverlapBoth}
)

// Each row is one day or two around a change of the clocks, with the ticks of a
// spec in local time.
func TestChangesOfTheClocks(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, zone, spec string
		dst              DSTPolicy
		from, to         string // local; to is left out
		want             []string
	}{
		{
			"in the gap", "Europe/Paris", "30 2 * * *", firstDefault, "2026-03-28", "2026-03-31",
			[]string{"28 02:30 CET", "29 03:00 CEST", "30 02:30 CEST"},
		},
		{
			"in the gap, skipped", "Europe/Paris", "30 2 * * *", skipGap, "2026-03-28", "2026-03-31",
			[]string{"28 02:30 CET", "30 02:30 CEST"},
		},
		{
			"several in the gap run once", "Europe/Paris", "*/20 2 * * *", firstDefault, "2026-03-29", "2026-03-30",
			[]string{"29 03:00 CEST"},
		},
		{
			"in the gap and at its end run once", "Europe/Paris", "0,30 2,3 * * *", firstDefault, "2026-03-29", "2026-03-30",
			[]string{"29 03:00 CEST", "29 03:30 CEST"},
		},
		{
			"every hour is not shifted by a gap", "Europe/Paris", "30 * * * *", firstDefault, "2026-03-29T00:45", "2026-03-29T04:00",
			[]string{"29 01:30 CET", "29 03:30 CEST"},
		},
		{
			"every ten minutes has none extra", "Europe/Paris", "*/10 * * * *", firstDefault, "2026-03-29T01:35", "2026-03-29T03:15",
			[]string{"29 01:40 CET", "29 01:50 CET", "29 03:00 CEST", "29 03:10 CEST"},
		},
		{
			"every second hour keeps its count", "Europe/Paris", "0 */2 * * *", firstDefault, "2026-03-29", "2026-03-29T07:00",
			[]string{"29 00:00 CET", "29 03:00 CEST", "29 04:00 CEST", "29 06:00 CEST"},
		},
		{
			"repeated, first", "Europe/Paris", "30 2 * * *", firstDefault, "2026-10-24", "2026-10-27",
			[]string{"24 02:30 CEST", "25 02:30 CEST", "26 02:30 CET"},
		},
		{
			"repeated, both", "Europe/Paris", "30 2 * * *", bothOverlap, "2026-10-24", "2026-10-27",
			[]string{"24 02:30 CEST", "25 02:30 CEST", "25 02:30 CET", "26 02:30 CET"},
		},
		{
			"every hour goes on in real time", "Europe/Paris", "0 * * * *", firstDefault, "2026-10-25T00:30", "2026-10-25T04:00",
			[]string{"25 01:00 CEST", "25 02:00 CEST", "25 02:00 CET", "25 03:00 CET"},
		},
		{
			"all hours written out is every hour", "Europe/Paris", "0 0-23 * * *", firstDefault, "2026-10-25T00:30", "2026-10-25T04:00",
			[]string{"25 01:00 CEST", "25 02:00 CEST", "25 02:00 CET", "25 03:00 CET"},
		},
		{
			"a border of the repeated hour", "Europe/Paris", "0 3 * * *", firstDefault, "2026-10-25", "2026-10-26",
			[]string{"25 03:00 CET"},
		},
		{
			"midnight does not exist", "Asia/Beirut", "0 0 * * *", firstDefault, "2026-03-28", "2026-03-31",
			[]string{"28 00:00 EET", "29 01:00 EEST", "30 00:00 EEST"},
		},
		{
			"nor once a year", "Asia/Beirut", "0 0 29 3 *", firstDefault, "2026-03-01", "2027-03-30",
			[]string{"29 01:00 EEST", "29 00:00 EEST"},
		},
		{
			"Saturday noon before a Sunday without midnight", "Asia/Beirut", "0 12 * * 6", firstDefault, "2026-03-27", "2026-04-05",
			[]string{"28 12:00 EET", "04 12:00 EEST"},
		},
		{
			"Saturday noon in Havana", "America/Havana", "0 12 * * 6", firstDefault, "2026-03-06", "2026-03-15",
			[]string{"07 12:00 CST", "14 12:00 CDT"},
		},
		{
			"Saturday noon in Santiago", "America/Santiago", "0 12 * * 6", firstDefault, "2026-09-04", "2026-09-13",
			[]string{"05 12:00 -04", "12 12:00 -03"},
		},
		{
			"Saturday noon in the Azores", "Atlantic/Azores", "0 12 * * 6", firstDefault, "2026-03-27", "2026-04-05",
			[]string{"28 12:00 -01", "04 12:00 +00"},
		},
		{
			"half an hour's gap", "Australia/Lord_Howe", "15 */2 * * *", firstDefault, "2026-10-04", "2026-10-04T07:00",
			[]string{"04 00:15 +1030", "04 02:30 +11", "04 04:15 +11", "04 06:15 +11"},
		},
		{
			"daily over half an hour's gap", "Australia/Lord_Howe", "0 3 * * *", firstDefault, "2026-10-03", "2026-10-06",
			[]string{"03 03:00 +1030", "04 03:00 +11", "05 03:00 +11"},
		},
		{
			"half an hour repeated", "Australia/Lord_Howe", "45 1 * * *", firstDefault, "2026-04-05", "2026-04-06",
			[]string{"05 01:45 +11"},
		},
		{
			"half an hour repeated, both", "Australia/Lord_Howe", "45 1 * * *", bothOverlap, "2026-04-05", "2026-04-06",
			[]string{"05 01:45 +11", "05 01:45 +1030"},
		},
		{
			"midnight gap in Cairo", "Africa/Cairo", "@daily", firstDefault, "2026-04-23", "2026-04-26",
			[]string{"23 00:00 EET", "24 01:00 EEST", "25 00:00 EEST"},
		},
		{
			"midnight gap in Cairo, skipped", "Africa/Cairo", "@daily", skipGap, "2026-04-23", "2026-04-26",
			[]string{"23 00:00 EET", "25 00:00 EEST"},
		},
		{
			"midnight gap in Asuncion, when it still had one", "America/Asuncion", "@daily", firstDefault, "2023-09-30", "2023-10-03",
			[]string{"30 00:00 -04", "01 01:00 -03", "02 00:00 -03"},
		},
		{
			"a repeated midnight", "America/Asuncion", "30 23 * * *", firstDefault, "2024-03-23", "2024-03-25",
			[]string{"23 23:30 -03", "24 23:30 -04"},
		},
		{
			"a day that does not exist", "Pacific/Apia", "0 12 * * *", firstDefault, "2011-12-29", "2012-01-01",
			[]string{"29 12:00 -10", "31 00:00 +14", "31 12:00 +14"},
		},
		{
			"no zone changes as far as the rules go", "America/New_York", "30 2 * 3 0", firstDefault, "2099-03-06", "2099-03-16",
			[]string{"08 03:00 EDT", "15 02:30 EDT"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			loc := mustZone(t, tt.zone)
			s := mustParse(t, tt.spec, Options{Location: loc, DST: tt.dst})
			to := localTime(t, tt.to, loc)
			var got []string
			for at := s.Next(localTime(t, tt.from, loc).Add(-time.Nanosecond)); at.Before(to); at = s.Next(at) {
				got = append(got, at.In(loc).Format("02 15:04 MST"))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func localTime(t *testing.T, s string, loc *time.Location) time.Time {
	t.Helper()
	if len(s) == len(time.DateOnly) {
		s += "T00:00"
	}
	at, err := time.ParseInLocation("2006-01-02T15:04", s, loc)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// The standard library's ZoneBounds is wrong on one day in four years.
func TestSegmentsEndAfterTheyBegin(t *testing.T) {
	t.Parallel()
	for name := range strings.Lines(zoneNames) {
		loc := mustZone(t, strings.TrimSpace(name))
		end := time.Date(2060, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
		for at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).Unix(); at < end; {
			seg := segmentAt(loc, at)
			if seg.end <= at {
				t.Fatalf("%s: the segment at %s ends at %s", loc, time.Unix(at, 0).UTC(), time.Unix(seg.end, 0).UTC())
			}
			if last := offset(time.Unix(min(seg.end, end)-1, 0).In(loc)); last != seg.offset {
				t.Fatalf("%s: the segment at %s has offset %d, and %d at its end", loc, time.Unix(at, 0).UTC(), seg.offset, last)
			}
			at = seg.end
		}
	}
}

func TestLastDayOfALeapYear(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "0 12 * * *", Options{Location: mustZone(t, "Europe/Paris")})
	if got := s.Next(instant(t, "2028-12-31T13:00:00Z")); got != instant(t, "2029-01-01T11:00:00Z") {
		t.Errorf("got %s", got)
	}
}

func TestLeapDays(t *testing.T) {
	t.Parallel()
	paris := mustZone(t, "Europe/Paris")
	s := mustParse(t, "0 12 29 2 *", Options{Location: paris})
	at := instant(t, "2090-01-01T00:00:00Z")
	for _, want := range []string{"2092-02-29T11:00:00Z", "2096-02-29T11:00:00Z", "2104-02-29T11:00:00Z"} {
		if at = s.Next(at); at.Format(time.RFC3339) != want {
			t.Fatalf("got %s, want %s", at, want)
		}
	}
}

// A tick that lies in the gap is still to come from inside the hour before it,
// and has passed at the gap's end.
func TestNextIsStrictlyAfter(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "30 2 * * *", Options{Location: mustZone(t, "Europe/Paris")})
	border := instant(t, "2026-03-29T01:00:00Z")
	for from, want := range map[time.Time]time.Time{
		border.Add(-time.Nanosecond):  border,
		border.Add(-time.Second):      border,
		border:                        instant(t, "2026-03-30T00:30:00Z"),
		border.Add(time.Nanosecond):   instant(t, "2026-03-30T00:30:00Z"),
		border.Add(-40 * time.Minute): border,
	} {
		if got := s.Next(from); got != want { // by ==: the promise of Schedule
			t.Errorf("Next(%s) = %s, want %s", from, got, want)
		}
	}
}

func TestPreviewNotes(t *testing.T) {
	t.Parallel()
	paris := mustZone(t, "Europe/Paris")
	tests := []struct {
		name, spec string
		dst        DSTPolicy
		from       string
		want       []Planned
	}{
		{"gap", "30 2 * * *", firstDefault, "2026-03-28T12:00:00Z", []Planned{
			{instant(t, "2026-03-29T01:00:00Z"), "clocks go forward past 02:30: runs after the change", false},
			{instant(t, "2026-03-30T00:30:00Z"), "", false},
		}},
		{"left out", "15,45 2 * * *", skipGap, "2026-03-27T12:00:00Z", []Planned{
			{instant(t, "2026-03-28T01:15:00Z"), "", false},
			{instant(t, "2026-03-28T01:45:00Z"), "", false},
			{instant(t, "2026-03-30T00:15:00Z"), "clocks have gone forward past 2026-03-29 02:15: the tick before this is left out", false},
			{instant(t, "2026-03-30T00:45:00Z"), "", false},
		}},
		{"none left out", "30 1,3 * * *", skipGap, "2026-03-29T00:00:00Z", []Planned{
			{instant(t, "2026-03-29T00:30:00Z"), "", false},
			{instant(t, "2026-03-29T01:30:00Z"), "", false},
		}},
		{"regular at the gap's end", "0,30 2,3 * * *", firstDefault, "2026-03-28T12:00:00Z", []Planned{
			{instant(t, "2026-03-29T01:00:00Z"), "", false},
			{instant(t, "2026-03-29T01:30:00Z"), "", false},
		}},
		{"first of two", "30 2 * * *", firstDefault, "2026-10-24T12:00:00Z", []Planned{
			{instant(t, "2026-10-25T00:30:00Z"), "clocks go back: first of two 02:30", false},
			{instant(t, "2026-10-26T01:30:00Z"), "", false},
		}},
		{"the repeated hour's borders", "0 * * * *", firstDefault, "2026-10-24T23:30:00Z", []Planned{
			{instant(t, "2026-10-25T00:00:00Z"), "clocks go back: first of two 02:00", false},
			{instant(t, "2026-10-25T01:00:00Z"), "clocks go back: second of two 02:00", false},
			{instant(t, "2026-10-25T02:00:00Z"), "", false},
		}},
		{"both", "30 * * * *", firstDefault, "2026-10-24T23:15:00Z", []Planned{
			{instant(t, "2026-10-24T23:30:00Z"), "", false},
			{instant(t, "2026-10-25T00:30:00Z"), "clocks go back: first of two 02:30", false},
			{instant(t, "2026-10-25T01:30:00Z"), "clocks go back: second of two 02:30", false},
			{instant(t, "2026-10-25T02:30:00Z"), "", false},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := mustParse(t, tt.spec, Options{Location: paris, DST: tt.dst})
			if got := Preview(s, instant(t, tt.from), len(tt.want)); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func TestPreviewEnds(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "@at 2027-01-01T00:00:00Z", Options{})
	if got := Preview(s, instant(t, "2026-01-01T00:00:00Z"), 5); len(got) != 1 {
		t.Errorf("an @at has %d ticks to come, want 1", len(got))
	}
	if got := Preview(s, instant(t, "2028-01-01T00:00:00Z"), 5); got == nil || len(got) != 0 {
		t.Errorf("a past @at has %#v to come, want an empty list", got)
	}
	if got := Preview(Every{Interval: time.Second}, instant(t, "2026-01-01T00:00:00Z"), 0); len(got) != 0 {
		t.Errorf("asked for none, got %v", got)
	}
}

func TestUTCHasNoNotes(t *testing.T) {
	t.Parallel()
	s := mustParse(t, "30 2 * * *", Options{})
	for _, p := range Preview(s, instant(t, "2026-01-01T00:00:00Z"), 400) {
		if p.Note != "" {
			t.Fatalf("%+v", p)
		}
	}
}
