package nodes

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// A skew is a clock that stands apart from the others.
type skew struct {
	who string // a node, or "" for this process
	by  time.Duration
}

// skews compares the clocks of the nodes and of this process, and returns those
// that are further than limit from the median of all. Offsets are by how much
// each node's clock is ahead of ours. Of two clocks nobody can say which one is
// wrong, so ours is named.
func skews(offsets map[string]time.Duration, limit time.Duration) []skew {
	clocks := []skew{{}}
	for _, name := range slices.Sorted(maps.Keys(offsets)) {
		clocks = append(clocks, skew{name, offsets[name]})
	}
	sorted := slices.Clone(clocks)
	slices.SortStableFunc(sorted, func(a, b skew) int { return cmp.Compare(a.by, b.by) })
	median := sorted[len(sorted)/2].by
	if len(clocks) == 2 {
		median = clocks[1].by
	}
	var apart []skew
	for _, c := range clocks {
		if by := c.by - median; by.Abs() > limit {
			apart = append(apart, skew{c.who, by})
		}
	}
	return apart
}

// watchClocks tells the observer which clocks have begun or ceased to stand
// apart by more than a quarter of the grace, half of what a node puts up with.
// known are those it was told of last; it returns those of now.
func (s *Set) watchClocks(known map[string]bool) map[string]bool {
	now := map[string]bool{}
	for _, c := range skews(s.Offsets(), s.cfg.Grace/4) {
		now[c.who] = true
		if !known[c.who] && s.cfg.Observer.Skewed != nil {
			s.cfg.Observer.Skewed(c.who, c.by)
		}
	}
	for who := range known {
		if !now[who] && s.cfg.Observer.Skewed != nil {
			s.cfg.Observer.Skewed(who, 0)
		}
	}
	return now
}

// ClockOffset returns how far the local clock is ahead of those of the nodes of all
// sets, by the median of what their replies have shown; false before the first.
func ClockOffset(sets ...*Set) (time.Duration, bool) {
	var offsets []time.Duration
	for _, s := range sets {
		offsets = slices.AppendSeq(offsets, maps.Values(s.Offsets()))
	}
	return behind(offsets)
}

// behind is the median of the offsets, as seen from the other side.
func behind(offsets []time.Duration) (time.Duration, bool) {
	if len(offsets) == 0 {
		return 0, false
	}
	slices.Sort(offsets)
	return -offsets[len(offsets)/2], true
}
