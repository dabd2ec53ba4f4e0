package schedule

import "time"

// LastTicks returns the last n wanted ticks of a schedule between from and before, oldest
// first, and whether there are no others. A schedule can only be walked forward, so it
// searches longer and longer spans: the cost does not grow with the time since from.
func LastTicks(s Schedule, from, before time.Time, n int, wanted func(time.Time) bool) (list []time.Time, whole bool) {
	for span := time.Minute; ; span *= 4 {
		begin := before.Add(-span)
		if from.After(begin) {
			begin = from
		}
		list, whole = nil, begin.Equal(from)
		for at := s.Next(begin); !at.IsZero() && at.Before(before); at = s.Next(at) {
			if !wanted(at) {
				continue
			}
			if list = append(list, at); len(list) > 2*n { // rarely, so the newest stay
				list, whole = append(list[:0], list[len(list)-n:]...), false
			}
		}
		if whole || len(list) >= n {
			over := max(0, len(list)-n)
			return list[over:], whole && over == 0
		}
		if begin.Equal(from) {
			return list, false
		}
	}
}
