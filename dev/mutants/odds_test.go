package main

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

// Of four runs of a test by chance, two say what the plant names, one fails otherwise, and one
// dies. Only the two count.
func TestMeasure(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := write(dir, tiny); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, map[string]string{"chance_test.go": `package tiny

import (
	"os"
	"testing"
)

func TestCampaign(t *testing.T) {
	runs, _ := os.ReadFile("runs")
	if err := os.WriteFile("runs", append(runs, '.'), 0o600); err != nil {
		t.Fatal(err)
	}
	switch by := Double(2); {
	case by == 4:
	case len(runs)%4 == 0:
		panic("six")
	case len(runs)%4 == 1:
		t.Error("five")
	default:
		t.Error("six")
	}
}
`}); err != nil {
		t.Fatal(err)
	}
	bug := plant{"chance", in(".", "TestCampaign").saying("six"), []edit{{"tiny.go", "2 * n", "3 * n"}}}
	var out, progress bytes.Buffer
	if err := measure(t.Context(), &out, &progress, []string{dir}, []plant{bug}, 8); err != nil {
		t.Fatal(err)
	}
	want := strings.Fields("chance TestCampaign 8 4 0.193 33 a short campaign")
	if got := strings.Fields(out.String()); !slices.Equal(got[max(0, len(got)-len(want)):], want) {
		t.Errorf("the table does not end with %q:\n%s", want, &out)
	}
	for _, says := range []string{`does not say "six": five`, "does not say what is wrong: panic: six", ": 4 of 8: "} {
		if !strings.Contains(progress.String(), says) {
			t.Errorf("it was not told that %s:\n%s", says, &progress)
		}
	}
	bug.edits[0].new = "3 *"
	if err := measure(t.Context(), &out, &progress, []string{dir}, []plant{bug}, 1); err == nil || !strings.Contains(err.Error(), "does not compile") {
		t.Errorf("of a plant that does not compile: %v", err)
	}
}

// Each repetition of a simulation is another world.
func TestRepetition(t *testing.T) {
	t.Parallel()
	for _, tests := range []tests{in(sim, "TestSim"), in(claims, "TestCampaign")} {
		_, one := tests.repetition(1)
		if _, other := tests.repetition(2); len(one) == 0 || slices.Equal(one, other) {
			t.Errorf("%v: %q and %q", tests, one, other)
		}
	}
	if in("cmd", "TestCampaignNoQuorum").byChance() || in(claims, "TestForget").byChance() || !in(onEtcd, "TestCampaign").byChance() {
		t.Error("campaigns are by chance, but not that without a quorum, and no other tests")
	}
}

func TestLowerBound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		caught, runs int
		want         float64
		needed       string
	}{
		{30, 30, 0.905, "3"}, {15, 30, 0.339, "17"}, {1, 100, 0.000513, "13468"}, {0, 30, 0, "unknown"},
	} {
		got := lowerBound(tt.caught, tt.runs)
		if math.Abs(got-tt.want) > 0.002*tt.want || needed(got) != tt.needed {
			t.Errorf("%d of %d: %f, and %s repetitions; want %f, %s", tt.caught, tt.runs, got, needed(got), tt.want, tt.needed)
		}
	}
}
