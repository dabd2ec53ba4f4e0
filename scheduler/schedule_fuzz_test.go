package scheduler

import (
	"testing"
	"time"
)

// FuzzParseSchedule: whatever parses ticks, and ever later.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range append(walkSpecs, walkSecondSpecs...) {
		f.Add(spec, int64(1_774_745_000))
	}
	for _, spec := range []string{
		"TZ=UTC", "CRON_TZ=Europe/Paris 0 2 * * *", "@every 1h offset 5m", "@at 2027-01-01T00:00:00Z", "@daily",
		",", "*-5 * * * *", "0 0 30 2 *", "0 0 29 2 mon", "TZ= * * * * *", "TZ=Australia/Lord_Howe 15 */2 * * *",
	} {
		f.Add(spec, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, spec string, from int64) {
		s, err := ParseSchedule(spec, ScheduleOptions{})
		if err != nil {
			return
		}
		fieldsAgree(t, spec)
		if words, err := Explain(spec, ScheduleOptions{}); err != nil || words == "" {
			t.Fatalf("%q has no explanation: %v", spec, err)
		}
		const years = int64(400 * 365 * 24 * 3600)
		at := time.Unix(from%years, 0)
		for range 20 {
			next := s.Next(at)
			if _, once := s.(At); once && next.IsZero() {
				return
			}
			if !next.After(at) || next != s.Next(next.Add(-time.Nanosecond)) {
				t.Fatalf("%q: after %s comes %s", spec, at, next)
			}
			at = next
		}
	})
}
