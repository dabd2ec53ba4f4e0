package schedule

import (
	"slices"
	"testing"
	"time"
)

// FuzzParseSchedule: whatever parses ticks, and ever later.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range slices.Concat(walkSpecs, walkSecondSpecs, walkDaySpecs) {
		f.Add(spec, int64(1_774_745_000))
	}
	for _, spec := range []string{
		"TZ=UTC", "CRON_TZ=Europe/Paris 0 2 * * *", "@every 1h offset 5m", "@at 2027-01-01T00:00:00Z", "@daily",
		",", "*-5 * * * *", "0 0 30 2 *", "0 0 29 2 mon", "TZ= * * * * *", "H H(2-5) * * *", "0 0 0 L-3W */2 mon#5 2027-2100/3", "TZ=Australia/Lord_Howe 15 */2 * * *",
	} {
		f.Add(spec, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, spec string, from int64) {
		opts := Options{Name: "fuzz"}
		s, err := Parse(spec, opts)
		if err != nil {
			return
		}
		fieldsAgree(t, spec)
		if words, err := explain(spec, opts); err != nil || words == "" {
			t.Fatalf("%q has no explanation: %v", spec, err)
		}
		const years = int64(400 * 365 * 24 * 3600)
		at := time.Unix(from%years, 0)
		for range 20 {
			next := s.Next(at)
			if next.IsZero() && ends(s) {
				return
			}
			if !next.After(at) || next != s.Next(next.Add(-time.Nanosecond)) {
				t.Fatalf("%q: after %s comes %s", spec, at, next)
			}
			at = next
		}
	})
}

// ends reports whether a schedule may have a last tick.
func ends(s Schedule) bool {
	if z, ok := s.(*zoned); ok {
		return !z.fields()[yearField].star
	}
	_, once := s.(At)
	return once
}
