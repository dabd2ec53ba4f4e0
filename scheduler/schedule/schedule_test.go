package schedule

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"
)

func mustParse(tb testing.TB, spec string, opts Options) Schedule {
	tb.Helper()
	s, err := Parse(spec, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func mustZone(tb testing.TB, name string) *time.Location {
	tb.Helper()
	zone, err := LoadZone(name)
	if err != nil {
		tb.Fatal(err)
	}
	return zone
}

func instant(tb testing.TB, s string) time.Time {
	tb.Helper()
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		tb.Fatal(err)
	}
	return at
}

func TestParseScheduleAccepts(t *testing.T) {
	t.Parallel()
	const from = "2026-11-20T10:17:30.5Z" // a Friday
	tests := map[string]string{
		"* * * * *":                          "2026-11-20T10:18:00Z",
		"* * * * * *":                        "2026-11-20T10:17:31Z",
		"*/10 * * * * *":                     "2026-11-20T10:17:40Z",
		"0 2 * * *":                          "2026-11-21T02:00:00Z",
		"  0\t2 *  * * ":                     "2026-11-21T02:00:00Z",
		"05 02 * * *":                        "2026-11-21T02:05:00Z",
		"0 0 13 * 5":                         "2026-11-27T00:00:00Z", // either day
		"0 0 13 * *":                         "2026-12-13T00:00:00Z",
		"0 0 ? * 5":                          "2026-11-27T00:00:00Z",
		"0 0 * JAN Mon-fri":                  "2027-01-01T00:00:00Z",
		"0 0 1,15 */3 *":                     "2027-01-01T00:00:00Z",
		"50/5 * * * *":                       "2026-11-20T10:50:00Z",
		"0 0 * * 7":                          "2026-11-22T00:00:00Z",
		"0 0 * * 7/3":                        "2026-11-21T00:00:00Z",
		"0 0 * * 5-7":                        "2026-11-21T00:00:00Z",
		"0 0 * * 7 # Sundays":                "2026-11-22T00:00:00Z",
		"@daily # at midnight, UTC":          "2026-11-21T00:00:00Z",
		"@every 1h #":                        "2026-11-20T11:00:00Z",
		"0 0 * * fri#4 #x":                   "2026-11-27T00:00:00Z",
		"0 0 * * 7-7":                        "2026-11-22T00:00:00Z",
		"0 0 * * 7-2":                        "2026-11-22T00:00:00Z",
		"0 0 * * sat-mon":                    "2026-11-21T00:00:00Z",
		"0 22-2 * * *":                       "2026-11-20T22:00:00Z",
		"0 22-2/3 * * *":                     "2026-11-20T22:00:00Z", // and 01:00
		"0 0 31-2 * *":                       "2026-12-01T00:00:00Z",
		"0 0 1 dec-feb *":                    "2026-12-01T00:00:00Z",
		"0 0 1 nov-mar/2 *":                  "2027-01-01T00:00:00Z",
		"0 0 L * *":                          "2026-11-30T00:00:00Z",
		"0 0 l-3 * *":                        "2026-11-27T00:00:00Z",
		"0 0 L 2 ?":                          "2027-02-28T00:00:00Z",
		"0 0 29 2 1-7":                       "2027-02-01T00:00:00Z", // either day
		"0 0 * * 5L":                         "2026-11-27T00:00:00Z",
		"0 0 * * friL":                       "2026-11-27T00:00:00Z",
		"0 0 * * 7l":                         "2026-11-29T00:00:00Z",
		"0 0 * * fri#2":                      "2026-12-11T00:00:00Z",
		"0 0 * * mon#5":                      "2026-11-30T00:00:00Z",
		"0 0 * 2 mon#5":                      "2044-02-29T00:00:00Z",
		"0 0 * * sat#3,sun#4":                "2026-11-21T00:00:00Z",
		"0 0 15W * *":                        "2026-12-15T00:00:00Z",
		"0 0 22W * *":                        "2026-11-23T00:00:00Z", // a Sunday
		"0 0 21w * *":                        "2026-12-21T00:00:00Z", // was a Saturday: Friday 20
		"0 0 1W 5 *":                         "2027-05-03T00:00:00Z", // a Saturday, but within the month
		"0 0 31W 1,5 *":                      "2027-01-29T00:00:00Z", // a Sunday, but within the month
		"0 0 LW 1 *":                         "2027-01-29T00:00:00Z",
		"0 0 L-1W 1 *":                       "2027-01-29T00:00:00Z",
		"0 0 31W * *":                        "2026-12-31T00:00:00Z",
		"0 0 L * fri":                        "2026-11-27T00:00:00Z", // either day
		"0 0 13 * fri#2":                     "2026-12-11T00:00:00Z",
		"30 0 0 * * * 2027":                  "2027-01-01T00:00:30Z",
		"0 0 0 1 1 * 2029,2031-2035/2":       "2029-01-01T00:00:00Z",
		"0 0 0 29 2 * 2027-2099":             "2028-02-29T00:00:00Z",
		"0 0 0 1 1 * */10":                   "2030-01-01T00:00:00Z",
		"0 0 0 1 1 * 2020":                   "never",
		"0 0 0 1 1 * 2199":                   "2199-01-01T00:00:00Z",
		"0 9-17/4 * * *":                     "2026-11-20T13:00:00Z",
		"0 0 29 2 *":                         "2028-02-29T00:00:00Z",
		"@hourly":                            "2026-11-20T11:00:00Z",
		" @daily ":                           "2026-11-21T00:00:00Z",
		"@midnight":                          "2026-11-21T00:00:00Z",
		"@weekly":                            "2026-11-22T00:00:00Z",
		"@monthly":                           "2026-12-01T00:00:00Z",
		"@yearly":                            "2027-01-01T00:00:00Z",
		"@annually":                          "2027-01-01T00:00:00Z",
		"CRON_TZ=Asia/Tokyo 0 2 * * *":       "2026-11-20T17:00:00Z",
		"TZ=Asia/Tokyo   0 2 * * *":          "2026-11-20T17:00:00Z",
		"TZ=Asia/Tokyo @daily":               "2026-11-20T15:00:00Z",
		"@every 1s":                          "2026-11-20T10:17:31Z",
		"@every 1500ms":                      "2026-11-20T10:17:31.5Z",
		"@every 5m":                          "2026-11-20T10:20:00Z",
		"@every 24h":                         "2026-11-21T00:00:00Z",
		"@every 1h offset 5m":                "2026-11-20T11:05:00Z",
		"@at 2027-01-01T00:00:00+01:00":      "2026-12-31T23:00:00Z",
		"@at 2026-11-20T10:17:30.501Z":       "2026-11-20T10:17:30.501Z",
		"@at 2026-11-20T10:17:30.5Z":         "never", // strictly after
		"@at 1999-12-31T23:59:59Z":           "never",
		"CRON_TZ=America/New_York 0 0 1 1 *": "2027-01-01T05:00:00Z",
	}
	for spec, want := range tests {
		t.Run(spec, func(t *testing.T) {
			t.Parallel()
			next := mustParse(t, spec, Options{}).Next(instant(t, from))
			got := "never"
			if !next.IsZero() {
				got = next.Format(time.RFC3339Nano)
			}
			if got != want {
				t.Errorf("Next(%s) = %s, want %s", from, got, want)
			}
		})
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec string
		pos  int
		says string
	}{
		{"", 0, "is empty"},
		{"  ", 2, "is empty"},
		{"TZ=UTC", 6, "is empty"}, // robfig panics
		{"CRON_TZ=UTC ", 12, "is empty"},
		{"TZ= 0 0 * * *", 0, "time zone is empty"},
		{"TZ=Local 0 0 * * *", 0, "differs between machines"},
		{"TZ=localtime 0 0 * * *", 0, "differs between machines"},
		{" CRON_TZ=Europe/Pariss 0 0 * * *", 1, `unknown time zone "Europe/Pariss"`},
		{"TZ=posixrules 0 0 * * *", 0, "differs between machines"},
		{"TZ=Factory 0 0 * * *", 0, "differs between machines"},
		{"TZ=right/Europe/Paris 0 0 * * *", 0, "counts leap seconds"},
		{"TZ=posix/Europe/Paris 0 0 * * *", 0, "write Europe/Paris"},
		{"TZ=../../etc/passwd 0 0 * * *", 0, "unknown time zone"},
		{"0 2 * *", 0, "has 4 fields: write 5"},
		{", * * * *", 0, `a value is missing before or after a comma: write 0-59`},
		{"1,,2 * * * *", 0, `a value is missing before or after a comma: write 0-59`},
		{"5- * * * *", 0, `a value is missing in "5-": write 0-59`},
		{"/5 * * * *", 0, `a value is missing in "/5": write */5`},
		{"0 2 * * * /usr/bin/report", 10, `has "/usr/bin/report" after its five fields: remove it; a command belongs in the params of a job`},
		{"0 2 * * * root /usr/bin/report --all", 10, `has "root" after its five fields: remove it; a command belongs`},
		{"0 2 * * * root report", 10, `has "root" after its five fields`},
		{"0 2 * * * report", 10, `has "report" after its five fields`},
		{"30 2 * * 1-5 cd /x && y", 13, `has "cd" after its five fields`},
		{"0 2 * * * */usr", 10, `has "*/usr" after its five fields`},
		{"TZ=UTC 0 2 * * * ./x", 17, `has "./x" after its five fields`},
		{"@daily /usr/bin/report", 7, `has "/usr/bin/report" after @daily: remove it; a command belongs`},
		{"@every 5m /usr/bin/report", 10, "has more after the interval"},
		{"0 2 * * mon-", 8, `a value is missing in "mon-"`},
		{"#", 1, "is empty"},
		{"*-5 * * * *", 0, `"*" is not a valid value`},
		{"*/90 * * * *", 0, "step 90 leaves only one of the values 0-59: write 0"},
		{"0 */24 * * *", 2, "step 24 leaves only one"},
		{"55/10 * * * *", 0, "write 55"},
		{"*/0 * * * *", 0, `step "0"`},
		{"*/ * * * *", 0, `step ""`},
		{"*/1/2 * * * *", 0, `step "1/2"`},
		{"*,5 * * * *", 0, "write *"},
		{"0-59,5 * * * *", 0, "write *"},
		{"? * * * *", 0, `"?" is not a valid value`},
		{"0 0 ?/2 * *", 4, `"?" is not a valid value`},
		{"+5 * * * *", 0, `"+5" is not a valid value`},
		{"-5 * * * *", 0, `a value is missing in "-5": write 0-59`},
		{"1-2-3 * * * *", 0, `"2-3" is not a valid value`},
		{"60 * * * *", 0, `"60" is not a valid value: write 0-59`},
		{"99999999999999999999 * * * *", 0, "is not a valid value"},
		{"0 24 * * *", 2, "write 0-23"},
		{"0 0 0 * *", 4, "write 1-31"},
		{"0 0 2 * * * 2027 0", 17, "has 8 fields: write 5"},
		{"0 0 2 * * * 1969", 12, `"1969" is not a valid value: write 1970-2199`},
		{"0 0 2 * * * 2030-2027", 12, "range 2030-2027 runs backwards: write 2027-2030"},
		{"0 0 2 * * * H", 12, `"H" is not a valid value`},
		{"0 0 0 29 2 * 2027,2029-2031", 6, "never ticks"},
		{"0 0 0 30 2 * 2028", 6, "never ticks"},
		{"0 0 31W 2 *", 4, "never ticks"},
		{"0 0 L-30 2,4 *", 4, "never ticks"},
		{"0 0 * 2 mon#6", 8, "write fri#1 to fri#5, or friL"},
		{"0 0 * * mon#0", 8, "write fri#1 to fri#5"},
		{"0 0 * * mon-fri#1", 8, `"mon-fri" is not a valid value`},
		{"0 0 * * #1", 0, "has 4 fields: write 5"},
		{"0 0 * * L", 8, "write friL or 5L"},
		{"0 0 * * 8L", 8, `"8" is not a valid value: write 0-6 or sun`},
		{"0 0 * * 8", 8, "write 0-6 or sun"},
		{"0 0 L-0 * *", 4, "L-1 to L-30"},
		{"0 0 L-31 * *", 4, "L-1 to L-30"},
		{"0 0 L3 * *", 4, "L-1 to L-30"},
		{"0 0 L/2 * *", 4, "L-1 to L-30"},
		{"0 0 W * *", 4, "write 15W"},
		{"0 0 32W * *", 4, "write 15W"},
		{"0 0 1-5W * *", 4, "write 15W"},
		{"L * * * *", 0, `"L" is not a valid value`},
		{"0 0 * 5L *", 6, `"5L" is not a valid value`},
		{"H * * * *", 0, "the job's name, which is not known here"},
		{"0 0 0 * 13 *", 8, "write 1-12"},
		{"0 0 * 13 *", 6, "write 1-12 or jan feb"},
		{"0 0 * * monday", 8, "or sun mon tue"},
		{"0 0 30 2 *", 4, "never ticks"},
		{"0 0 0 31 4,6,9,11 *", 6, "never ticks"},
		{"TZ=Asia/Tokyo 0 0 31 2 ?", 18, "never ticks"},
		{"@Daily", 0, "unknown word @Daily: write @hourly, @daily"},
		{"@reboot", 0, "unknown word"},
		{"@ daily", 0, "unknown word"},
		{"@daily 0", 7, "remove it"},
		{"@every", 0, "has no interval"},
		{"@every5m", 0, "unknown word"},
		{"@every 0s", 7, "write at least 1s"},
		{"@every -5m", 7, "write at least 1s"},
		{"@every 500ms", 7, "write at least 1s"},
		{"@every 1d", 7, "bad duration"},
		{"@every 5", 7, "bad duration"},
		{"@every 1000500us", 7, "whole milliseconds"},
		{"@every 1h 30m", 10, `"@every 1h30m" without blanks`},
		{"@every 1h after 5m", 10, "offset 5m"},
		{"@every 1h offset", 10, "offset 5m"},
		{"@every 1h offset 5m 3s", 10, "offset 5m"},
		{"@every 1h offset 1h", 17, "below the interval"},
		{"@every 1h offset -1s", 17, "from 0s"},
		{"@every 1h offset 1us", 17, "whole milliseconds"},
		{"TZ=UTC @every 1h", 0, "@every knows no time zone"},
		{"TZ=UTC @at 2027-01-01T00:00:00Z", 0, "@at knows no time zone"},
		{"@at", 0, "has no time"},
		{"@at 2027-01-01 00:00:00Z", 15, "with a T"},
		{"@at 2027-01-01T00:00:00", 4, "RFC 3339"},
		{"@at 2027-01-01T00:00:00.0005Z", 4, "whole milliseconds"},
	}
	for _, tt := range tests {
		t.Run(tt.spec, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(tt.spec, Options{})
			var spec *SpecError
			if !errors.As(err, &spec) {
				t.Fatalf("error %v, want a *SpecError", err)
			}
			if spec.Spec != tt.spec || spec.Pos != tt.pos || !strings.Contains(spec.Msg, tt.says) {
				t.Errorf("%+v, want position %d and a message with %q", spec, tt.pos, tt.says)
			}
			if want := fmt.Sprintf("schedule %q %s", tt.spec, spec.Msg); err.Error() != want {
				t.Errorf("Error() = %s, want %s", err, want)
			}
		})
	}
}

func TestScheduleOptionsValidate(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts Options
		says string
	}{
		"zero":    {Options{}, ""},
		"zone":    {Options{Location: mustZone(t, "Europe/Paris")}, ""},
		"local":   {Options{Location: time.Local}, "write UTC"},
		"gap":     {Options{DST: DSTPolicy{Gap: "before"}}, "write run_after or skip"},
		"overlap": {Options{DST: DSTPolicy{Overlap: "second"}}, "write first or both"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("0 0 * * *", tt.opts)
			if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %v, want one with %q", err, tt.says)
			}
		})
	}
}

// What our own reading of a field makes of a spec must be what robfig/cron makes
// of it, wherever it reads the spec at all.
func TestFieldsAgreeWithRobfig(t *testing.T) {
	t.Parallel()
	for _, spec := range append(walkSpecs, "0 0 ? * ?", "5/7 1-9/3,12 1-31 jan,MAR-jun/2 sun,tue-thu", "*/2 */1 */5 */4 */3 1-1/1") {
		if !fieldsAgree(t, spec) {
			t.Errorf("robfig does not read %q", spec)
		}
	}
}

// fieldsAgree reports whether robfig/cron reads the spec.
func fieldsAgree(t *testing.T, spec string) bool {
	t.Helper()
	z, ok := mustParse(t, spec, Options{Name: "fuzz"}).(*zoned)
	if !ok {
		return false
	}
	parser := cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	robfig, err := parser.Parse("TZ=UTC " + spec)
	if err != nil {
		return false
	}
	if want := *robfig.(*cron.SpecSchedule); z.spec.spec != want {
		t.Errorf("%q is %+v, robfig reads %+v", spec, z.spec.spec, want)
	}
	return true
}
