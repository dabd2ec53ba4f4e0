package schedule

import (
	"math"
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
		if z.skipsRepeats() {
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
		if z.runsAfterGaps() && tick < seg.end+following.offset {
			return time.Unix(seg.end, 0).UTC()
		}
		seg, civil = following, seg.end+following.offset-1
	}
}

func (z *zoned) skipsRepeats() bool {
	return z.dst.Overlap == DSTOverlapFirst && !z.spec.everyHour()
}

func (z *zoned) runsAfterGaps() bool {
	return z.dst.Gap == DSTGapRunAfter && !z.spec.everyHour()
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
