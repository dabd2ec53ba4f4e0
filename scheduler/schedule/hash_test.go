package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What H chooses must never change: jobs would move.
func TestHashIsPinned(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"H H * * *":          "At 05:19 every day, UTC (H by the name nightly)",
		"H(0-29) 3 * * *":    "At 03:19 every day, UTC (H by the name nightly)",
		"H/15 * * * *":       "At minutes 4, 19, 34 and 49 of every hour, UTC (H by the name nightly)",
		"H(0-29)/10 * * * *": "At minutes 9, 19 and 29 of every hour, UTC (H by the name nightly)",
		"H H H * *":          "At 05:19 on day 21 of every month, UTC (H by the name nightly)",
		"0 0 * H H":          "At 00:00 every Saturday in October, UTC (H by the name nightly)",
		"H(50-10) * * * *":   "At minute 51 of every hour, UTC (H by the name nightly)",
	} {
		got, err := explain(spec, Options{Name: "nightly"})
		if err != nil || got != want {
			t.Errorf("%q: %q, %v", spec, got, err)
		}
	}
}

func TestHashRefuses(t *testing.T) {
	t.Parallel()
	for spec, says := range map[string]string{
		"H(0-29 * * * *":    "write H(0-59)",
		"H(5) * * * *":      "write H(0-59)",
		"H() * * * *":       "write H(0-59)",
		"H(0-60) * * * *":   `"60" is not a valid value`,
		"H/60 * * * *":      "write H",
		"H(0-9)/10 * * * *": "write H(0-9)",
		"H-5 * * * *":       `"H-5"`,
		"HH * * * *":        `"HH" is not a valid value`,
		"H/0 * * * *":       "above 0",
	} {
		_, err := Parse(spec, Options{Name: "nightly"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v, want one with %q", spec, err, says)
		}
	}
}

// Each H stays within what it may choose from, all of which some name gets, and
// the fields choose apart from each other.
func TestHashSpreads(t *testing.T) {
	t.Parallel()
	const names = 2000
	hours, minutes, days, rows, wrapped, same := map[int]int{}, map[int]int{}, map[int]int{}, map[int]int{}, map[int]int{}, 0
	for i := range names {
		opts := Options{Name: fmt.Sprintf("job-%d", i)}
		at := mustParse(t, "H H H * *", opts).Next(time.Time{})
		hours[at.Hour()]++
		minutes[at.Minute()]++
		days[at.Day()]++
		if at.Hour() == at.Minute() {
			same++
		}
		row := mustParse(t, "H/20 * * * *", opts)
		first := row.Next(instant(t, "2026-11-20T09:59:59Z"))
		rows[first.Minute()]++
		if second := row.Next(first); second.Sub(first) != 20*time.Minute {
			t.Fatalf("%s ticks at %s and %s", opts.Name, first, second)
		}
		wrapped[mustParse(t, "0 H(22-2) * * *", opts).Next(instant(t, "2026-11-20T12:00:00Z")).Hour()]++
	}
	for what, got := range map[string]struct{ chosen, choices int }{
		"hours": {len(hours), 24}, "minutes": {len(minutes), 60}, "days": {len(days), 28},
		"rows": {len(rows), 20}, "wrapped hours": {len(wrapped), 5},
	} {
		if got.chosen != got.choices {
			t.Errorf("%s: %d chosen, of %d", what, got.chosen, got.choices)
		}
	}
	if days[29]+days[30]+days[31] > 0 {
		t.Error("a day that not every month has was chosen")
	}
	if same > names/20 {
		t.Errorf("hour and minute are the same for %d of %d names", same, names)
	}
}
