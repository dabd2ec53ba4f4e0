package pairs_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/quorate/quorate/dev/bench/pairs"
)

// fake is a side that notes its turns and measures the given values.
func fake(name string, turns *[]string, values ...float64) pairs.Side {
	return pairs.Side{Name: name, Measure: func(context.Context) (float64, error) {
		*turns = append(*turns, name)
		value := values[0]
		values = values[1:]
		return value, nil
	}}
}

func TestSidesTakeTurns(t *testing.T) {
	t.Parallel()
	var turns []string
	var told []float64
	plan := pairs.Plan{Rounds: 3, Told: func(_ int, _ string, v float64) { told = append(told, v) }}
	samples, err := pairs.Run(t.Context(), plan,
		fake("a", &turns, 1000, 4, 8, 6), fake("b", &turns, 1000, 2, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a", "b", "a", "b", "a", "b", "a", "b"}; !slices.Equal(turns, want) {
		t.Errorf("took turns as %v, want %v", turns, want)
	}
	if want := []float64{1000, 1000, 4, 2, 8, 2, 6, 3}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if want := []float64{4, 8, 6}; !slices.Equal(samples["a"], want) {
		t.Errorf("samples of a are %v, want %v: the warm-up does not count", samples["a"], want)
	}
	if got, want := samples.Ratio("a", "b"), (pairs.Ratio{Of: 3, Low: 2, High: 4}); got != want {
		t.Errorf("ratio is %v, want %v", got, want)
	}
}

func TestFailureNamesTheSide(t *testing.T) {
	t.Parallel()
	broken := errors.New("no server")
	_, err := pairs.Run(t.Context(), pairs.Plan{Rounds: 1}, pairs.Side{
		Name: "a", Measure: func(context.Context) (float64, error) { return 0, broken },
	})
	if !errors.Is(err, broken) || err.Error() != "measuring a: no server" {
		t.Errorf("got %v", err)
	}
}

func TestMedianAndPercentile(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		values               []float64
		median, p90, p99, p0 float64
	}{
		{[]float64{5}, 5, 5, 5, 5},
		{[]float64{3, 1, 2}, 2, 3, 3, 1},
		{[]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 9, 10, 1},
	} {
		got := []float64{
			pairs.Median(tc.values), pairs.Percentile(tc.values, 90),
			pairs.Percentile(tc.values, 99), pairs.Percentile(tc.values, 0),
		}
		if want := []float64{tc.median, tc.p90, tc.p99, tc.p0}; !slices.Equal(got, want) {
			t.Errorf("of %v: median, p90, p99, p0 are %v, want %v", tc.values, got, want)
		}
	}
	if !math.IsNaN(pairs.Median(nil)) || !math.IsNaN(pairs.Percentile(nil, 50)) {
		t.Error("nothing has a median")
	}
}
