package scheduler

import (
	"errors"
	"testing"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"CRON_TZ=Europe/Paris 0 2 * * *": "At 02:00 every day, Europe/Paris",
		"* * * * *":                      "Every minute, UTC",
		"*/5 * * * *":                    "Every 5 minutes, UTC",
		"*/7 * * * *":                    "At minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour, UTC",
		"5,20,35,50 * * * *":             "At minutes 5, 20, 35 and 50 of every hour, UTC",
		"* * * * * *":                    "Every second, UTC",
		"*/10 * * * * *":                 "Every 10 seconds, UTC",
		"30 * * * * *":                   "At second 30 of every minute, UTC",
		"0,30 * * * * *":                 "Every 30 seconds, UTC",
		"*/10 5-9 * * * *":               "Every 10 seconds in minutes 5 to 9, UTC",
		"15 0,30 * * * *":                "At second 15 in minutes 0 and 30, UTC",
		"30 0 2 * * *":                   "At 02:00:30 every day, UTC",
		"0,30 0 2 * * *":                 "At 02:00:00 and 02:00:30 every day, UTC",
		"0,30 2,14 * * *":                "At 02:00, 02:30, 14:00 and 14:30 every day, UTC",
		"*/20 2 * * *":                   "At 02:00, 02:20 and 02:40 every day, UTC",
		"@hourly":                        "At minute 0 of every hour, UTC",
		"30 0-23 * * *":                  "At minute 30 of every hour, UTC",
		"0 */2 * * *":                    "At minute 0 in every 2nd hour from 00:00 every day, UTC",
		"*/10 */3 * * *":                 "Every 10 minutes in every 3rd hour from 00:00 every day, UTC",
		"0 */4 * * *":                    "At 00:00, 04:00, 08:00, 12:00, 16:00 and 20:00 every day, UTC",
		"*/15 */4 * * *":                 "Every 15 minutes in every 4th hour from 00:00 every day, UTC",
		"*/10 9-17 * * mon-fri":          "Every 10 minutes from 09:00 to 17:59 every Monday to Friday, UTC",
		"*/10 1,2,7 * * *":               "Every 10 minutes in hours 1, 2 and 7 every day, UTC",
		"0 12 * * 6":                     "At 12:00 every Saturday, UTC",
		"0 12 * * 0,6":                   "At 12:00 every Sunday and Saturday, UTC",
		"0 0 1 * *":                      "At 00:00 on day 1 of every month, UTC",
		"0 0 1,15 1,7 *":                 "At 00:00 on days 1 and 15 of January and July, UTC",
		"0 0 29 2 *":                     "At 00:00 on day 29 of February, UTC",
		"0 0 13 * 5":                     "At 00:00 on day 13 of every month and every Friday, UTC",
		"0 0 13 6-8 5":                   "At 00:00 on day 13 of June to August and every Friday in June to August, UTC",
		"0 0 */2 * *":                    "At 00:00 on days 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29 and 31 of every month, UTC",
		"0 0 * dec *":                    "At 00:00 every day in December, UTC",
		"*/5 * * dec *":                  "Every 5 minutes in December, UTC",
		"@yearly":                        "At 00:00 on day 1 of January, UTC",
		"@weekly":                        "At 00:00 every Sunday, UTC",
		"@every 5m":                      "Every 5 minutes, counted from 1970-01-01 00:00:00 UTC",
		"@every 1h offset 5m":            "Every hour, counted from 1970-01-01 00:05:00 UTC",
		"@every 90m":                     "Every 1 hour 30 minutes, counted from 1970-01-01 00:00:00 UTC",
		"@every 1500ms":                  "Every 1.5 seconds, counted from 1970-01-01 00:00:00 UTC",
		"@at 2027-01-01T01:00:00+01:00":  "Once, at 2027-01-01 00:00:00 UTC",
		"@at 2027-01-01T00:00:00.25Z":    "Once, at 2027-01-01 00:00:00.25 UTC",
	}
	for spec, want := range tests {
		got, err := Explain(spec, ScheduleOptions{})
		if err != nil {
			t.Errorf("%q: %v", spec, err)
		} else if got != want {
			t.Errorf("%q:\n got  %s\n want %s", spec, got, want)
		}
	}
}

func TestExplainRefusesWhatParseScheduleRefuses(t *testing.T) {
	t.Parallel()
	_, err := Explain("0 0 30 2 *", ScheduleOptions{})
	if _, ok := errors.AsType[*SpecError](err); !ok {
		t.Errorf("error %v, want a *SpecError", err)
	}
}
