package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fieldText draws a column of a spec from the grammar in ParseSchedule.
func fieldText(kind fieldKind) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 2).Draw(t, "star") == 0 {
			return "*"
		}
		var entries []string
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			lo := rapid.IntRange(kind.min, kind.max).Draw(t, "lo")
			hi := rapid.IntRange(lo, kind.max).Draw(t, "hi")
			entry := fmt.Sprint(lo)
			if hi > lo {
				entry += fmt.Sprintf("-%d/%d", hi, rapid.IntRange(1, hi-lo).Draw(t, "step"))
			}
			entries = append(entries, entry)
		}
		return strings.Join(entries, ",")
	})
}

// Next must be monotonic and agree with itself from wherever it starts, in any
// zone and under any policy.
func TestNextProperties(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Paris", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago", "Antarctica/Troll", "Africa/Casablanca"}
	from := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for _, kind := range fieldKinds {
			texts = append(texts, fieldText(kind).Draw(t, kind.name))
		}
		zone, err := LoadZone(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		dst := DSTPolicy{
			Gap:     rapid.SampledFrom([]DSTGap{DSTGapRunAfter, DSTGapSkip}).Draw(t, "gap"),
			Overlap: rapid.SampledFrom([]DSTOverlap{DSTOverlapFirst, DSTOverlapBoth}).Draw(t, "overlap"),
		}
		spec := strings.Join(texts, " ")
		s, err := ParseSchedule(spec, ScheduleOptions{Location: zone, DST: dst})
		if err != nil {
			if !strings.Contains(err.Error(), "never ticks") && !strings.Contains(err.Error(), "write *") {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		a := time.Unix(from+rapid.Int64Range(0, 800*24*3600).Draw(t, "a"), 0)
		b := a.Add(time.Duration(rapid.Int64Range(0, 3*24*3600*1000).Draw(t, "b")) * time.Millisecond)
		afterA, afterB := s.Next(a), s.Next(b)
		switch {
		case !afterA.After(a):
			t.Fatalf("%q: after %s comes %s", spec, a, afterA)
		case afterA.After(b) && afterB != afterA:
			t.Fatalf("%q: after %s comes %s, but after %s comes %s", spec, a, afterA, b, afterB)
		case afterB.Before(afterA):
			t.Fatalf("%q: not monotonic: %s → %s, %s → %s", spec, a, afterA, b, afterB)
		case s.Next(afterA.Add(-time.Nanosecond)) != afterA:
			t.Fatalf("%q: %s is no tick when asked just before", spec, afterA)
		}
	})
}
