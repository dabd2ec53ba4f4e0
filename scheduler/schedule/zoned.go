package schedule

import (
	"math"
	"time"
)

// zoned is a cron spec on the wall clock of a zone.
//
// A zone is a row of segments of constant offset from UTC. Within one, civil
// time runs like any other and the spec is stepped on it; at the border to the
// next, civil time jumps, and the policies apply.
type zoned struct {
	spec civilSpec
	text string // the fields as they were written
	name string // of the job that an H is hashed from
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

// note says what a change of the clocks has done to a tick of z; "" if nothing.
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

// leftOut returns the civil time before that of a tick, the first in its segment,
// that fell into the gap in which the segment begins.
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

// A segment is a stretch of Unix time in which a zone's offset is constant.
type segment struct {
	end    int64 // exclusive; math.MaxInt64 for the last one
	offset int64 // civil minus Unix seconds
	from   int64 // civil; where it begins, if anywhere
	// repeatedUntil is where the previous segment's civil time ended. If clocks
	// went back at the border, civil times before it come for the second time;
	// if they went forward, those from it on were left out.
	repeatedUntil int64
}

// segmentAt returns the segment with the instant, or a part of it that has the
// instant: further borders, without a change, do no harm.
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
		// ZoneBounds takes every year for 365 days where a zone goes on by rule,
		// so on 31 December of a leap year its end is not after t. The true one
		// is the end of that day.
		seg.end = t.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour).Unix()
	}
	return seg
}

func offset(t time.Time) int64 {
	_, seconds := t.Zone()
	return int64(seconds)
}
