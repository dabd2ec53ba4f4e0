package membership

import (
	"cmp"
	"slices"
	"time"
)

// A skew is the offset of a clock.
type skew struct {
	who string // a node, or "" for this process
	by  time.Duration
}

func byOffset(a, b skew) int { return cmp.Compare(a.by, b.by) }

// skews compares the clocks of the nodes and of this process, and returns those further
// than limit from the median. With one node, this process's clock is blamed.
func skews(nodes []skew, limit time.Duration) []skew {
	clocks := append([]skew{{}}, nodes...)
	sorted := slices.Clone(clocks)
	slices.SortStableFunc(sorted, byOffset)
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

// ClockOffset returns how far the local clock is ahead of the median of all nodes;
// false before the first reply.
func (s *Set) ClockOffset() (time.Duration, bool) { return behind(s.offsets()) }

// behind is the negative median of the offsets.
func behind(list []skew) (time.Duration, bool) {
	if len(list) == 0 {
		return 0, false
	}
	slices.SortFunc(list, byOffset)
	return -list[len(list)/2].by, true
}
