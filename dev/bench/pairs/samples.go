package pairs

import (
	"math"
	"slices"
)

// Samples holds what was measured of each side, in the order of the rounds.
type Samples map[string][]float64

// Median returns the median of a side, NaN if it was not measured.
func (s Samples) Median(side string) float64 { return Median(s[side]) }

// A Ratio compares two sides.
type Ratio struct {
	// Of is the ratio of the medians.
	Of float64
	// Low and High are the smallest and the largest ratio of a pair: of two
	// measurements of the same round.
	Low, High float64
}

// Ratio returns how the first side compares to the second.
func (s Samples) Ratio(first, second string) Ratio {
	r := Ratio{Of: s.Median(first) / s.Median(second), Low: math.Inf(1), High: math.Inf(-1)}
	for i := range min(len(s[first]), len(s[second])) {
		pair := s[first][i] / s[second][i]
		r.Low, r.High = min(r.Low, pair), max(r.High, pair)
	}
	return r
}

// Median returns the middle of the values, NaN if there are none.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	switch n := len(sorted); {
	case n == 0:
		return math.NaN()
	case n%2 == 1:
		return sorted[n/2]
	default:
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
}

// Percentile returns the smallest value that p percent of the values do not
// exceed, NaN if there are none.
func Percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}
