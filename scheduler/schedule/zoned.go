package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// zoned is a cron spec on the wall clock of a zone.
//
// A zone is a sequence of segments with constant offset from UTC. Within a segment, civil
// time is continuous and the spec is stepped on it; at its border civil time jumps, and the
// policies apply.
type zoned struct {
	spec civilSpec
	text string // the fields as they were written
	name string // of the job, from which H is hashed
	loc  *time.Location
	dst  DSTPolicy
}

// Next implements Schedule.
func (z *zoned) Next(after time.Time) time.Time {
	at := after.Unix() // rounds down: no whole second lies between
	seg := segmentAt(z.loc, at)
	for civil := at + seg.offset; ; {
		if z.dst.Overlap == DSTOverlapFirst && !z.spec.everyHour() {
			civil = max(civil, seg.repeatedUntil-1)
		}
		tick, ok := z.spec.next(civil)
		if !ok {
			return time.Time{}
		}
		if tick-seg.offset < seg.end {
			return time.Unix(tick-seg.offset, 0).UTC()
		}
		following := segmentAt(z.loc, seg.end)
		if z.dst.Gap == DSTGapRunAfter && !z.spec.everyHour() && tick < seg.end+following.offset {
			return time.Unix(seg.end, 0).UTC()
		}
		seg, civil = following, seg.end+following.offset-1
	}
}

// note says how a change of the clocks has affected a tick of z; "" if it has not.
func (z *zoned) note(tick time.Time) string {
	at := tick.Unix()
	seg := segmentAt(z.loc, at)
	civil := at + seg.offset
	shown := func(civil int64) string { return time.Unix(civil, 0).UTC().Format("15:04") }
	if !z.spec.matches(civil) {
		left, _ := z.spec.next(seg.repeatedUntil - 1)
		return "clocks go forward past " + shown(left) + ": runs after the change"
	}
	if civil < seg.repeatedUntil {
		return "clocks go back: second of two " + shown(civil)
	}
	if seg.end < math.MaxInt64 && civil >= seg.end+segmentAt(z.loc, seg.end).offset {
		return "clocks go back: first of two " + shown(civil)
	}
	if left, ok := z.leftOut(civil, seg); ok {
		return "clocks have gone forward past " + time.Unix(left, 0).UTC().Format("2006-01-02 15:04") + ": the tick before this is left out"
	}
	return ""
}

// leftOut returns the civil time of a skipped tick before the given one, the first in its
// segment: it fell into the gap at the segment's begin.
func (z *zoned) leftOut(civil int64, seg segment) (int64, bool) {
	if z.dst.Gap != DSTGapSkip || z.spec.everyHour() || seg.repeatedUntil >= seg.from {
		return 0, false
	}
	left, ok := z.spec.next(seg.repeatedUntil - 1)
	if !ok || left >= seg.from {
		return 0, false
	}
	first, ok := z.spec.next(seg.from - 1)
	return left, ok && first == civil
}

// A segment is a span of Unix time with a constant offset.
type segment struct {
	end    int64 // exclusive; math.MaxInt64 for the last one
	offset int64 // civil minus Unix seconds
	from   int64 // civil; its begin, if any
	// repeatedUntil is the civil end of the previous segment. If clocks went back at the
	// border, earlier civil times are repeated; if they went forward, later ones were
	// skipped.
	repeatedUntil int64
}

// segmentAt returns the segment with the instant, or a part of it: extra borders without a
// change are harmless.
func segmentAt(loc *time.Location, at int64) segment {
	t := time.Unix(at, 0).In(loc)
	start, end := t.ZoneBounds()
	seg := segment{end: math.MaxInt64, offset: offset(t), from: math.MinInt64 + 1, repeatedUntil: math.MinInt64 + 1}
	if !start.IsZero() {
		seg.repeatedUntil = start.Unix() + offset(start.Add(-time.Second))
		seg.from = start.Unix() + seg.offset
	}
	if !end.IsZero() {
		seg.end = end.Unix()
	}
	if seg.end <= at {
		// ZoneBounds assumes 365 days in years that follow a rule, so on 31 December of a
		// leap year its end is not after t. The true end is the end of that day.
		seg.end = t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Unix()
	}
	return seg
}

func offset(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds)
}

// DSTGap is the policy for ticks whose wall-clock time is skipped when the clocks go
// forward.
type DSTGap string

// The policies for a gap.
const (
	// DSTGapRunAfter ticks at the first instant after the gap: once for all ticks in the
	// gap and a regular tick at that instant.
	DSTGapRunAfter DSTGap = "run_after"
	// DSTGapSkip drops them.
	DSTGapSkip DSTGap = "skip"
)

// Values returns the policies, the default first.
func (DSTGap) Values() []string { return []string{string(DSTGapRunAfter), string(DSTGapSkip)} }

// DSTOverlap is the policy for ticks whose wall-clock time comes twice when the clocks go
// back.
type DSTOverlap string

// The policies for an overlap.
const (
	// DSTOverlapFirst ticks at the first of the two.
	DSTOverlapFirst DSTOverlap = "first"
	// DSTOverlapBoth ticks at both.
	DSTOverlapBoth DSTOverlap = "both"
)

// Values returns the policies, the default first.
func (DSTOverlap) Values() []string { return []string{string(DSTOverlapFirst), string(DSTOverlapBoth)} }

// A DSTPolicy says what happens to the ticks of a cron spec when the zone's wall clock
// jumps. It applies to specs that name hours ("30 2 * * *", but also "0 */2 * * *"): they
// tick as often on the day of a change as on any other.
//
// It does not apply to specs with all 24 hours ("*/10 * * * *"): they tick whenever the
// wall clock shows a matching time, so they never pause for the repeated hour. Specs that
// match the same wall-clock times behave the same, however they are written.
//
// It is the section dst of a job in a configuration file, too.
type DSTPolicy struct {
	// Gap is by default DSTGapRunAfter.
	Gap DSTGap `json:"gap,omitempty" jsonschema:"For a time that the clock jumps over. run_after: the tick comes right after the gap; skip: there is none that day."`
	// Overlap is by default DSTOverlapFirst.
	Overlap DSTOverlap `json:"overlap,omitempty" jsonschema:"For a time that the clock shows twice. first: the tick comes the first time; both: it comes both times."`
}

// WithDefaults returns a copy with defaults for the empty fields.
func (p DSTPolicy) WithDefaults() DSTPolicy {
	return DSTPolicy{cmp.Or(p.Gap, DSTGapRunAfter), cmp.Or(p.Overlap, DSTOverlapFirst)}
}

// Validate reports an unknown policy. Empty fields are valid.
func (p DSTPolicy) Validate() error {
	p = p.WithDefaults()
	if p.Gap != DSTGapRunAfter && p.Gap != DSTGapSkip {
		return fmt.Errorf("dst gap %q is unknown: write %s or %s", p.Gap, DSTGapRunAfter, DSTGapSkip)
	}
	if p.Overlap != DSTOverlapFirst && p.Overlap != DSTOverlapBoth {
		return fmt.Errorf("dst overlap %q is unknown: write %s or %s", p.Overlap, DSTOverlapFirst, DSTOverlapBoth)
	}
	return nil
}

// LoadZone returns the time zone of an IANA name. It refuses the empty name, the
// machine's own zone and what only some machines have, which may differ between replicas.
//
// Rules come from the machine's zoneinfo if it has one, else from the copy in the binary.
// Replicas with different releases of the rules may disagree about ticks in a zone whose
// rules have just changed.
func LoadZone(name string) (*time.Location, error) {
	folder, rest, _ := strings.Cut(name, "/")
	switch strings.ToLower(name) {
	case "":
		return nil, errors.New("time zone is empty: write UTC or a name such as Europe/Paris")
	case "local", "localtime", "posixrules", "factory":
		return nil, fmt.Errorf("time zone %s differs between machines: write UTC or a name such as Europe/Paris", name)
	}
	switch strings.ToLower(folder) {
	case "posix":
		return nil, fmt.Errorf("time zone %s is not on every machine: write %s", name, rest)
	case "right":
		return nil, fmt.Errorf("time zone %s counts leap seconds, and is not on every machine: write %s", name, rest)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("unknown time zone %q: write UTC or an IANA name such as Europe/Paris", name)
	}
	return zone, nil
}

// A zoneName is a zone that is written as its name.
type zoneName struct{ *time.Location }

// MarshalText writes the name.
func (z zoneName) MarshalText() ([]byte, error) { return []byte(z.String()), nil }

// UnmarshalText reads a name, by LoadZone.
func (z *zoneName) UnmarshalText(name []byte) (err error) {
	z.Location, err = LoadZone(string(name))
	return err
}
