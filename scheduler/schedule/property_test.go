package schedule

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// fieldText draws a column of a spec from the grammar in Parse.
func fieldText(kind fieldKind) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		if rapid.IntRange(0, 2).Draw(t, "star") == 0 {
			return "*"
		}
		var entries []string
		for range rapid.IntRange(1, 3).Draw(t, "entries") {
			entries = append(entries, entryText(t, kind))
		}
		return strings.Join(entries, ",")
	})
}

func entryText(t *rapid.T, kind fieldKind) string {
	weekday := rapid.SampledFrom([]string{"sun", "1", "tue", "3", "thu", "5", "sat", "7"})
	date := rapid.IntRange(1, 31)
	rules := map[int][]func() string{
		domField: {
			func() string { return "L" },
			func() string { return "LW" },
			func() string { return fmt.Sprintf("L-%d", rapid.IntRange(1, 30).Draw(t, "before")) },
			func() string { return fmt.Sprintf("L-%dW", rapid.IntRange(1, 30).Draw(t, "before")) },
			func() string { return fmt.Sprintf("%dW", date.Draw(t, "nearest")) },
		},
		dowField: {
			func() string { return weekday.Draw(t, "last") + "L" },
			func() string {
				return fmt.Sprintf("%s#%d", weekday.Draw(t, "weekday"), rapid.IntRange(1, 5).Draw(t, "nth"))
			},
		},
	}
	for column, list := range rules {
		if kind.is(column) && rapid.Bool().Draw(t, "rule") {
			return rapid.SampledFrom(list).Draw(t, "which")()
		}
	}
	lo := rapid.IntRange(kind.min, kind.max).Draw(t, "lo")
	hi := rapid.IntRange(kind.min, kind.max).Draw(t, "hi")
	if !kind.ring {
		hi = max(lo, hi)
	}
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d-%d/%d", lo, hi, rapid.IntRange(1, (hi-lo+kind.size())%kind.size()).Draw(t, "step"))
}

// yearText draws years that have not passed when the tests begin.
func yearText() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"*", "*", "2028-2199", "2026-2150/2", "2030,2199", "2026,2027,2028-2199"})
}

// Next must be monotonic and agree with itself from wherever it starts, in any
// zone and under any policy.
func TestNextProperties(t *testing.T) {
	t.Parallel()
	zones := []string{"UTC", "Europe/Paris", "Asia/Beirut", "Australia/Lord_Howe", "America/Santiago", "Antarctica/Troll", "Africa/Casablanca"}
	from := time.Date(2025, 12, 1, 0, 0, 0, 0, time.UTC).Unix()
	rapid.Check(t, func(t *rapid.T) {
		var texts []string
		for _, kind := range fieldKinds[:yearField] {
			texts = append(texts, fieldText(kind).Draw(t, kind.name))
		}
		texts = append(texts, yearText().Draw(t, "year"))
		zone, err := LoadZone(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		dst := DSTPolicy{
			Gap:     rapid.SampledFrom([]DSTGap{DSTGapRunAfter, DSTGapSkip}).Draw(t, "gap"),
			Overlap: rapid.SampledFrom([]DSTOverlap{DSTOverlapFirst, DSTOverlapBoth}).Draw(t, "overlap"),
		}
		spec := strings.Join(texts, " ")
		s, err := Parse(spec, Options{Location: zone, DST: dst})
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

// Which days a spec ticks on, compared with looking at every day of a few years.
func TestDaysAgainstWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		spec := strings.Join([]string{
			"0 0 12", fieldText(fieldKinds[domField]).Draw(r, "dom"), fieldText(fieldKinds[monthField]).Draw(r, "month"),
			fieldText(fieldKinds[dowField]).Draw(r, "dow"), yearText().Draw(r, "year"),
		}, " ")
		s, err := Parse(spec, Options{})
		if err != nil {
			r.Skip(err)
		}
		m := newMatcher(t, spec)
		noon := time.Date(rapid.IntRange(firstYear, lastYear-4).Draw(r, "first year"), 1, 1, 12, 0, 0, 0, time.UTC)
		next := s.Next(noon.Add(-time.Second))
		for range 4 * 366 {
			ticks := m.match(newClock(noon.Unix()))
			if ticks != next.Equal(noon) {
				r.Fatalf("%q: on %s the walk says %v, but the next tick is at %s", spec, noon.Format(time.DateOnly), ticks, next)
			}
			if ticks {
				next = s.Next(next)
			}
			noon = noon.AddDate(0, 0, 1)
		}
	})
}
