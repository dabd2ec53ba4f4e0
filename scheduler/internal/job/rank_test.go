package job

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

func replicaNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("host-%d", i)
	}
	return names
}

// All replicas agree on the order: their ranks are 0 to n-1, for any order of the list,
// with or without self.
func TestRanksAreAPermutation(t *testing.T) {
	t.Parallel()
	names := replicaNames(7)
	shuffled := append(slices.Clone(names[3:]), names[:4]...) // host-3 twice
	for i := range 200 {
		tick := time.UnixMilli(int64(i) * 60_000)
		var ranks []int
		for _, self := range names {
			rank := Rank("job", tick, self, names)
			ranks = append(ranks, rank)
			others := slices.DeleteFunc(slices.Clone(shuffled), func(r string) bool { return r == self })
			if again := Rank("job", tick, self, others); again != rank {
				t.Fatalf("rank of %s is %d, and %d when the list does not name it", self, rank, again)
			}
		}
		slices.Sort(ranks)
		if !slices.Equal(ranks, []int{0, 1, 2, 3, 4, 5, 6}) {
			t.Fatalf("ranks %v", ranks)
		}
	}
}

// When a replica goes, those behind it move up by one and no other moves.
func TestRankKeepsTheOrderOfTheOthers(t *testing.T) {
	t.Parallel()
	names := replicaNames(5)
	tick := time.UnixMilli(1_800_000_000_000)
	gone := Rank("job", tick, names[0], names)
	for _, self := range names[1:] {
		want := Rank("job", tick, self, names)
		if want > gone {
			want--
		}
		if got := Rank("job", tick, self, names[1:]); got != want {
			t.Errorf("%s has rank %d, want %d", self, got, want)
		}
	}
}

// Each replica is first about equally often: over the ticks of a job, and over the jobs of
// a tick. 4000 draws among 5 vary by about 25.
func TestRankIsFair(t *testing.T) {
	t.Parallel()
	const draws = 4000
	names := replicaNames(5)
	tests := map[string]func(i int) (string, time.Time){
		"every second": func(i int) (string, time.Time) { return "job", time.UnixMilli(int64(i) * 1000) },
		"every day":    func(i int) (string, time.Time) { return "job", time.UnixMilli(int64(i) * 86_400_000) },
		"many jobs":    func(i int) (string, time.Time) { return fmt.Sprint("job-", i), time.UnixMilli(1_800_000_000_000) },
	}
	for name, draw := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			places := map[string][]int{}
			for i := range draws {
				job, tick := draw(i)
				for _, self := range names {
					if places[self] == nil {
						places[self] = make([]int, len(names))
					}
					places[self][Rank(job, tick, self, names)]++
				}
			}
			for self, counts := range places {
				for rank, n := range counts {
					if fair := draws / len(names); n < fair-130 || n > fair+130 {
						t.Errorf("%s has rank %d in %d of %d draws, fair is %d", self, rank, n, draws, fair)
					}
				}
			}
		})
	}
}

// Replicas of different releases must agree, so the order may not change.
func TestRankIsPinned(t *testing.T) {
	t.Parallel()
	names := replicaNames(5)
	tick := time.UnixMilli(1_800_000_000_000)
	var got []int
	for _, self := range names {
		got = append(got, Rank("nightly-report", tick, self, names))
	}
	if want := []int{1, 2, 4, 3, 0}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, want %v", got, want)
	}
}

func TestRankCountsSelfOnce(t *testing.T) {
	t.Parallel()
	if got := Rank("job", time.UnixMilli(0), "a", []string{"a", "a"}); got != 0 {
		t.Errorf("alone, rank %d", got)
	}
	if got := Rank("job", time.UnixMilli(0), "a", nil); got != 0 {
		t.Errorf("unlisted and alone, rank %d", got)
	}
}
