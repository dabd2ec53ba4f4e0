package schedule

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func icsOf(events ...string) string {
	lines := []string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//test//test//EN"}
	for _, e := range events {
		lines = append(lines, "BEGIN:VEVENT", "UID:1", strings.ReplaceAll(e, "\n", "\r\n"), "END:VEVENT")
	}
	return strings.Join(append(lines, "END:VCALENDAR", ""), "\r\n")
}

// What events exclude: stretches in the years 2026 to 2029, end left out.
func TestICS(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		event string
		civil []string
		exact []string
	}{
		"a day":                    {"DTSTART;VALUE=DATE:20261225", []string{"2026-12-25T00:00 24h"}, nil},
		"days":                     {"DTSTART;VALUE=DATE:20261225\nDTEND;VALUE=DATE:20261227", []string{"2026-12-25T00:00 48h"}, nil},
		"days by duration":         {"DTSTART;VALUE=DATE:20261225\nDURATION:P1W", []string{"2026-12-25T00:00 168h"}, nil},
		"in UTC":                   {"DTSTART:20261224T120000Z\nDTEND:20261224T133000Z", nil, []string{"2026-12-24T12:00 1h30m"}},
		"floating":                 {"DTSTART:20261224T120000\nDURATION:P1DT2H3M4S", []string{"2026-12-24T12:00 26h3m4s"}, nil},
		"in a zone":                {"DTSTART;TZID=Europe/Paris:20261224T120000\nDTEND;TZID=Europe/Paris:20261224T130000", nil, []string{"2026-12-24T11:00 1h"}},
		"zone in quotes":           {"DTSTART;X-A=\"a:b;c\";TZID=\"Europe/Paris\":20260724T120000\nDURATION:PT90M", nil, []string{"2026-07-24T10:00 1h30m"}},
		"through a change":         {"DTSTART;TZID=Europe/Paris:20260328T120000\nDURATION:P1D", nil, []string{"2026-03-28T11:00 23h"}},
		"two zones":                {"DTSTART;TZID=Europe/Paris:20261224T120000\nDTEND;TZID=Asia/Tokyo:20261224T210000", nil, []string{"2026-12-24T11:00 1h"}},
		"every year":               {"DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY", []string{"2026-12-25T00:00 24h", "2027-12-25T00:00 24h", "2028-12-25T00:00 24h", "2029-12-25T00:00 24h"}, nil},
		"every second year":        {"DTSTART;VALUE=DATE:20201225\nRRULE:INTERVAL=2;FREQ=YEARLY;WKST=MO", []string{"2026-12-25T00:00 24h", "2028-12-25T00:00 24h"}, nil},
		"three times":              {"DTSTART;VALUE=DATE:20251225\nRRULE:FREQ=YEARLY;COUNT=3", []string{"2026-12-25T00:00 24h", "2027-12-25T00:00 24h"}, nil},
		"until a day":              {"DTSTART;VALUE=DATE:20251225\nRRULE:FREQ=YEARLY;UNTIL=20271225", []string{"2026-12-25T00:00 24h", "2027-12-25T00:00 24h"}, nil},
		"until before it":          {"DTSTART;VALUE=DATE:20251225\nRRULE:FREQ=YEARLY;UNTIL=20271224", []string{"2026-12-25T00:00 24h"}, nil},
		"until an instant":         {"DTSTART;TZID=Europe/Paris:20261225T003000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;UNTIL=20271224T233000Z", nil, []string{"2026-12-24T23:30 1h", "2027-12-24T23:30 1h"}},
		"until just before it":     {"DTSTART;TZID=Europe/Paris:20261225T003000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;UNTIL=20271224T232959Z", nil, []string{"2026-12-24T23:30 1h"}},
		"until a day, with a time": {"DTSTART:20261225T003000\nDURATION:PT1H\nRRULE:FREQ=YEARLY;UNTIL=20261225", []string{"2026-12-25T00:30 1h"}, nil},
		"what the day says anyway": {"DTSTART;VALUE=DATE:20271225\nRRULE:FREQ=YEARLY;BYMONTH=12;BYMONTHDAY=25;COUNT=1", []string{"2027-12-25T00:00 24h"}, nil},
		"29 February":              {"DTSTART;VALUE=DATE:20240229\nRRULE:FREQ=YEARLY", []string{"2028-02-29T00:00 24h"}, nil},
		"cancelled":                {"DTSTART;VALUE=DATE:20261225\nSTATUS:CANCELLED", nil, nil},
		"confirmed":                {"DTSTART;VALUE=DATE:20261225\nSTATUS:CONFIRMED", []string{"2026-12-25T00:00 24h"}, nil},
		"folded":                   {"DTST\n ART;VALUE=D\n\tATE:2026\n 1225\nSUMMARY:No\u00ebl: \n  off", []string{"2026-12-25T00:00 24h"}, nil},
		"with an alarm":            {"DTSTART;VALUE=DATE:20261225\nBEGIN:VALARM\nDTSTART:nonsense\nRRULE:FREQ=DAILY\nEND:VALARM", []string{"2026-12-25T00:00 24h"}, nil},
		"lower case":               {"dtstart;value=date:20261225", []string{"2026-12-25T00:00 24h"}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := NewCalendar("c", nil)
			if err := c.AddICS(icsOf(tt.event)); err != nil {
				t.Fatal(err)
			}
			if got := stretches(c.civil); !slices.Equal(got, tt.civil) {
				t.Errorf("civil times are %v, want %v", got, tt.civil)
			}
			if got := stretches(c.exact); !slices.Equal(got, tt.exact) {
				t.Errorf("instants are %v, want %v", got, tt.exact)
			}
		})
	}
}

func stretches(ranges timeRanges) []string {
	var out []string
	for _, r := range ranges {
		start := time.Unix(r.start, 0).UTC()
		if start.Year() >= 2026 && start.Year() < 2030 {
			length := (time.Duration(r.end-r.start) * time.Second).String()
			length = strings.Replace(strings.Replace(length, "m0s", "m", 1), "h0m", "h", 1)
			out = append(out, fmt.Sprintf("%s %s", start.Format("2006-01-02T15:04"), length))
		}
	}
	return out
}

func TestICSRefuses(t *testing.T) {
	t.Parallel()
	const day = "DTSTART;VALUE=DATE:20261225"
	for name, tt := range map[string]struct {
		text string
		line int
		says string
	}{
		"nothing":             {"", 1, "no iCalendar file"},
		"another file":        {"jobs: {}\n", 1, "stands outside"},
		"no colon":            {"BEGIN:VCALENDAR\nnonsense\n", 2, "NAME:VALUE"},
		"cut off":             {"BEGIN:VCALENDAR\nBEGIN:VEVENT\n" + day + "\n", 4, "cut off"},
		"event outside":       {"BEGIN:VEVENT\n" + day + "\nEND:VEVENT\n", 1, "out of place"},
		"calendar inside":     {"BEGIN:VCALENDAR\nBEGIN:VCALENDAR\n", 2, "out of place"},
		"wrong end":           {"BEGIN:VCALENDAR\nBEGIN:VEVENT\nEND:VCALENDAR\n", 3, "ends nothing"},
		"begins in a fold":    {" BEGIN:VCALENDAR\n", 1, "cut off"},
		"no start":            {icsOf("SUMMARY:x"), 4, "no DTSTART"},
		"no end":              {icsOf("DTSTART:20261224T120000Z"), 6, "excludes nothing"},
		"two starts":          {icsOf(day + "\n" + day), 7, "appears twice"},
		"two ends":            {icsOf(day + "\nDTEND;VALUE=DATE:20261226\nDURATION:P1D"), 8, "DTEND and DURATION"},
		"end of another kind": {icsOf(day + "\nDTEND:20261226T000000"), 7, "another kind"},
		"end in UTC":          {icsOf("DTSTART:20261224T120000\nDTEND:20261226T000000Z"), 7, "another kind"},
		"end before start":    {icsOf(day + "\nDTEND;VALUE=DATE:20261225"), 7, "not after DTSTART"},
		"end at start":        {icsOf("DTSTART:20261224T120000Z\nDTEND:20261224T120000Z"), 7, "not after DTSTART"},
		"bad date":            {icsOf("DTSTART;VALUE=DATE:20261325"), 6, "20261225, 20261224T120000"},
		"date with a Z":       {icsOf("DTSTART;VALUE=DATE:20261225Z"), 6, "not understood"},
		"year out of range":   {icsOf("DTSTART;VALUE=DATE:22001225"), 6, "1970 to 2199"},
		"unknown zone":        {icsOf("DTSTART;TZID=Romance Standard Time:20261224T120000\nDURATION:PT1H"), 6, "IANA"},
		"negative duration":   {icsOf(day + "\nDURATION:-P1D"), 7, "P1D, P2W"},
		"empty duration":      {icsOf(day + "\nDURATION:P"), 7, "P1D, P2W"},
		"empty time":          {icsOf(day + "\nDURATION:P1DT"), 7, "P1D, P2W"},
		"duration of nothing": {icsOf(day + "\nDURATION:P0D"), 7, "more than nothing"},
		"hours of whole days": {icsOf(day + "\nDURATION:PT5H"), 7, "whole days"},
		"unknown unit":        {icsOf(day + "\nDURATION:P1M"), 7, "P1D, P2W"},
		"weekly":              {icsOf(day + "\nRRULE:FREQ=WEEKLY"), 7, "FREQ=WEEKLY is not understood"},
		"weekday of a year":   {icsOf(day + "\nRRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH"), 7, "BYMONTH=11 is not understood"},
		"no frequency":        {icsOf(day + "\nRRULE:COUNT=3"), 7, "no FREQ=YEARLY"},
		"count of none":       {icsOf(day + "\nRRULE:FREQ=YEARLY;COUNT=0"), 7, "COUNT=0"},
		"bad until":           {icsOf(day + "\nRRULE:FREQ=YEARLY;UNTIL=soon"), 7, "UNTIL=SOON"},
		"exception":           {icsOf(day + "\nRRULE:FREQ=YEARLY\nEXDATE;VALUE=DATE:20271225"), 8, "EXDATE is not understood"},
		"folded":              {icsOf("SUMMARY:a\n  b\nDTSTART;VALUE=D\n ATE:2026"), 8, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := NewCalendar("c", nil).AddICS(tt.text)
			at, ok := errors.AsType[*CalendarError](err)
			if !ok || at.Line != tt.line || !strings.Contains(at.Msg, tt.says) {
				t.Errorf("error %v, want line %d and %q", err, tt.line, tt.says)
			}
		})
	}
}

// FuzzICS: no text does harm, and what is taken in is in order.
func FuzzICS(f *testing.F) {
	f.Add(icsOf("DTSTART;VALUE=DATE:20201225\nRRULE:FREQ=YEARLY;INTERVAL=2;COUNT=3"))
	f.Add(icsOf("DTSTART;TZID=Europe/Paris:20261224T120000\nDURATION:P1DT2H"))
	f.Add("BEGIN:VCALENDAR\n x\nEND:VCALENDAR")
	f.Fuzz(func(t *testing.T, text string) {
		c := NewCalendar("c", nil)
		if err := c.AddICS(text); err != nil {
			if _, ok := errors.AsType[*CalendarError](err); !ok {
				t.Fatalf("%T: %v", err, err)
			}
		}
		for _, ranges := range []timeRanges{c.civil, c.exact} {
			for i, r := range ranges {
				if r.end <= r.start || i > 0 && r.start <= ranges[i-1].end {
					t.Fatalf("%+v out of order", ranges)
				}
			}
		}
	})
}
