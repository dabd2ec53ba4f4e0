package schedule

import "testing"

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
		"@every 5m":                      "Every 5 minutes, clock-aligned",
		"@every 1h offset 5m":            "Every hour, aligned to 00:05:00 UTC",
		"@every 90m":                     "Every 1 hour 30 minutes, clock-aligned",
		"@every 1500ms":                  "Every 1.5 seconds, clock-aligned",
		"0 0 * * 5-7":                    "At 00:00 every Friday to Sunday, UTC",
		"0 0 * * fri-mon":                "At 00:00 every Friday to Monday, UTC",
		"0 0 * * 0-7":                    "At 00:00 every Sunday to Saturday, UTC",
		"*/10 22-2 * * *":                "Every 10 minutes from 22:00 to 02:59 every day, UTC",
		"5-10/2 22-2 * jan,mar mon":      "At minutes 5, 7 and 9 from 00:00 to 02:59 and from 22:00 to 23:59 every Monday in January and March, UTC",
		"*/10 22-2 1 * *":                "Every 10 minutes from 00:00 to 02:59 and from 22:00 to 23:59 on day 1 of every month, UTC",
		"*/10 22-2 * dec *":              "Every 10 minutes from 00:00 to 02:59 and from 22:00 to 23:59 every day in December, UTC",
		"0 0 22-2 * * * 2027":            "At 00:00, 01:00, 02:00, 22:00 and 23:00 every day, in 2027, UTC",
		"*/10 22-2,5 * * mon":            "Every 10 minutes in hours 0 to 2, 5, 22 and 23 every Monday, UTC",
		"0 20-4/2 * * *":                 "At 00:00, 02:00, 04:00, 20:00 and 22:00 every day, UTC",
		"50-10 * * * *":                  "At minutes 50 to 10 of every hour, UTC",
		"0 0 1 nov-feb *":                "At 00:00 on day 1 of November to February, UTC",
		"0 0 L * *":                      "At 00:00 on the last day of every month, UTC",
		"0 0 1,15,L * *":                 "At 00:00 on days 1 and 15 and the last day of every month, UTC",
		"0 0 L-1,L-3 2 *":                "At 00:00 on the day before the last and the 3rd day before the last of February, UTC",
		"0 0 15W * *":                    "At 00:00 on the weekday nearest to day 15 of every month, UTC",
		"0 0 LW * *":                     "At 00:00 on the last weekday of every month, UTC",
		"0 0 L-2W * *":                   "At 00:00 on the weekday nearest to the 2nd day before the last of every month, UTC",
		"0 0 * * fri#2":                  "At 00:00 on the 2nd Friday of every month, UTC",
		"0 0 * * 5L,7#1":                 "At 00:00 on the last Friday and the 1st Sunday of every month, UTC",
		"0 0 * 6 mon,fri#3":              "At 00:00 every Monday in June and on the 3rd Friday of June, UTC",
		"0 0 L 3 sun#3":                  "At 00:00 on the last day of March and on the 3rd Sunday of March, UTC",
		"*/5 * L * *":                    "Every 5 minutes on the last day of every month, UTC",
		"0 0 0 1 1 * 2027":               "At 00:00 on day 1 of January, in 2027, UTC",
		"0 0 12 * * * 2027-2030,2032":    "At 12:00 every day, in 2027 to 2030 and 2032, UTC",
		"* * * * * * 2027,2029":          "Every second, in 2027 and 2029, UTC",
		"@at 2027-01-01T01:00:00+01:00":  "Once, at 2027-01-01 00:00:00 UTC",
		"@at 2027-01-01T00:00:00.25Z":    "Once, at 2027-01-01 00:00:00.25 UTC",
	}
	for spec, want := range tests {
		got, err := explain(spec, Options{})
		if err != nil {
			t.Errorf("%q: %v", spec, err)
		} else if got != want {
			t.Errorf("%q:\n got  %s\n want %s", spec, got, want)
		}
	}
}

// explain says when a spec ticks.
func explain(spec string, opts Options) (string, error) {
	s, err := Parse(spec, opts)
	if err != nil {
		return "", err
	}
	return Describe(s), nil
}
