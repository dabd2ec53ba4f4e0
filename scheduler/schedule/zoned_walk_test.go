package schedule

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// zoneNames are all names in lib/time/zoneinfo.zip of Go 1.26 but Factory, which is no zone.
//
//go:embed testdata/zones.txt
var zoneNames string

// These cover the kinds: one, several and all hours; ticks that fall on,
// into and across midnight and the usual hours of change; each rule for days.
var walkSpecs = []string{
	"* * * * *",
	"*/10 * * * *",
	"45 * * * *",
	"*/15 1-3 * * *",
	"15 */2 * * *",
	"0 0 * * *",
	"30 2 * * *",
	"59 23,0 * * *",
	"0 12 * * 6",
	"30 0,1,2 29 3,10 *",
	"5 1 1-7 * 0",
}

// These are on days on which clocks change, more or less.
var walkDaySpecs = []string{
	"30 2 * * sunL,sun#1,7#2",
	"0 0 L-2,29W * 6L",
	"15,45 23-3/2 * 10-4 sat-1",
	"0 30 0-2 LW * sun#5 2027",
}

var walkSecondSpecs = []string{
	"* * * * * *",
	"7 */5 * * * *",
	"59 59 1 * * *",
	"*/20 29-31 0,2 * * *",
	"30 0 3 * * *",
}

// TestNextAgainstWalk compares Next with a walk over the minutes (and for a
// few specs the seconds) around every change of the clocks in 2026 and 2027,
// in every zone that has one.
func TestNextAgainstWalk(t *testing.T) {
	t.Parallel()
	from, to := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	var cases atomic.Int64
	changes, zones := changesByZones(t, from, to)
	t.Run("changes", func(t *testing.T) {
		for names, at := range changes {
			t.Run(names, func(t *testing.T) {
				t.Parallel()
				name, _, _ := strings.Cut(names, "+")
				for _, change := range at {
					minutes := newWalk(t, name, change, 60, 26*time.Hour)
					cases.Add(compareAll(t, minutes, slices.Concat(walkSpecs, walkDaySpecs)))
					seconds := newWalk(t, name, change, 1, 65*time.Minute)
					cases.Add(compareAll(t, seconds, walkSecondSpecs))
				}
			})
		}
	})
	t.Logf("%d zones of %d kinds change their clocks; %d pairs of a spec with a policy and a change compared", zones, len(changes), cases.Load())
	if zones < 100 {
		t.Errorf("only %d zones change their clocks: the walk has lost its subject", zones)
	}
}

// TestNextAgainstWalkOfYears walks two whole years.
func TestNextAgainstWalkOfYears(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("walks two million minutes; TestNextAgainstWalk has the changes")
	}
	for _, name := range []string{"Africa/Casablanca", "Australia/Lord_Howe"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWalk(t, name, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), 60, 365*24*time.Hour)
			compareAll(t, w, slices.Concat(walkSpecs[3:], walkDaySpecs))
		})
	}
}

// changesByZones returns when clocks change, once for all the zones in which
// they do so at the same instants by the same amounts, and in how many zones
// they do. Keys are the first zone's name and how many more there are.
func changesByZones(t *testing.T, from, to time.Time) (changes map[string][]time.Time, zones int) {
	t.Helper()
	type kind struct {
		first string
		count int
		at    []time.Time
	}
	kinds := map[string]*kind{}
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		loc, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		at, signature := changesIn(loc, from, to)
		if len(at) == 0 {
			continue
		}
		if kinds[signature] == nil {
			kinds[signature] = &kind{first: name, at: at}
		}
		kinds[signature].count++
		zones++
	}
	changes = map[string][]time.Time{}
	for _, k := range kinds {
		changes[fmt.Sprintf("%s+%d", k.first, k.count-1)] = k.at
	}
	return changes, zones
}

func changesIn(loc *time.Location, from, to time.Time) (at []time.Time, signature string) {
	const stride = 6 * time.Hour
	var changes []string
	for t := from; t.Before(to); t = t.Add(stride) {
		if offset(t.In(loc)) == offset(t.Add(stride).In(loc)) {
			continue
		}
		for m := t; m.Before(t.Add(stride)); m = m.Add(time.Minute) {
			if before, after := offset(m.In(loc)), offset(m.Add(time.Minute).In(loc)); before != after {
				at = append(at, m.Add(time.Minute))
				changes = append(changes, fmt.Sprint(m.Unix(), before, after))
			}
		}
	}
	return at, strings.Join(changes, " ")
}

// A walk is a row of instants one unit (in seconds) apart, and what the wall
// clock shows at each: what Next has to agree with, found without any of its
// reasoning about segments.
type walk struct {
	loc     *time.Location
	unit    int64
	start   int64 // Unix seconds of the first instant
	first   int   // index of the first instant that is compared
	civil   []int64
	clocks  []clock // civil, taken apart
	earlier []bool  // the wall clock has shown the same before
}

// A clock shows second, minute, hour, day, month, weekday, and the year since
// firstYear.
type clock [7]uint8

func newClock(civil int64) clock {
	t := time.Unix(civil, 0).UTC()
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	return clock{
		uint8(second), uint8(minute), uint8(hour), uint8(day), uint8(month), uint8(t.Weekday()), uint8(year - firstYear),
	}
}

func newWalk(t *testing.T, zone string, middle time.Time, unit int64, reach time.Duration) *walk {
	t.Helper()
	loc, err := LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	const lookBack = 2 * time.Hour // no change in these years is larger
	w := &walk{loc: loc, unit: unit, start: middle.Add(-reach - lookBack).Unix()}
	w.first = int(int64(lookBack/time.Second) / unit)
	latest := int64(math.MinInt64)
	for at := w.start; at < middle.Add(reach).Unix(); at += unit {
		civil := at + offset(time.Unix(at, 0).In(loc))
		w.civil, w.earlier = append(w.civil, civil), append(w.earlier, civil <= latest)
		w.clocks = append(w.clocks, newClock(civil))
		latest = max(latest, civil)
	}
	return w
}

// ticks says when the spec ticks under the policy.
func (w *walk) ticks(m *matcher, dst DSTPolicy) []int64 {
	var ticks []int64
	for i := w.first; i < len(w.civil); i++ {
		fires := m.match(w.clocks[i])
		if m.namesHours && dst.Overlap == DSTOverlapFirst && w.earlier[i] {
			fires = false
		}
		if m.namesHours && dst.Gap == DSTGapRunAfter {
			for left := w.civil[i-1] + w.unit; left < w.civil[i]; left += w.unit {
				fires = fires || m.match(newClock(left))
			}
		}
		if fires {
			ticks = append(ticks, w.start+int64(i)*w.unit)
		}
	}
	return ticks
}

func compareAll(t *testing.T, w *walk, specs []string) (cases int64) {
	t.Helper()
	for _, spec := range specs {
		m := newMatcher(t, spec)
		for _, gap := range []DSTGap{DSTGapRunAfter, DSTGapSkip} {
			for _, overlap := range []DSTOverlap{DSTOverlapFirst, DSTOverlapBoth} {
				compare(t, w, spec, m, DSTPolicy{Gap: gap, Overlap: overlap})
				cases++
			}
		}
	}
	return cases
}

func compare(t *testing.T, w *walk, spec string, m *matcher, dst DSTPolicy) {
	t.Helper()
	s, err := Parse(spec, Options{Location: w.loc, DST: dst})
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	end := w.start + int64(len(w.civil))*w.unit
	at := time.Unix(w.start+int64(w.first)*w.unit-1, 0)
	for at = s.Next(at); !at.IsZero() && at.Unix() < end; at = s.Next(at) {
		got = append(got, at.Unix())
	}
	if want := w.ticks(m, dst); !slices.Equal(got, want) {
		t.Errorf("%q in %s, %+v, from %s:\n Next %v\n walk %v", spec, w.loc, dst,
			time.Unix(w.start, 0).UTC(), only(got, want, w.loc), only(want, got, w.loc))
	}
}

// only formats what is in a and not in b, both sorted, up to a few.
func only(a, b []int64, loc *time.Location) []string {
	var out []string
	for _, at := range a {
		if _, found := slices.BinarySearch(b, at); !found && len(out) < 5 {
			out = append(out, time.Unix(at, 0).In(loc).Format(time.RFC3339))
		}
	}
	return out
}
