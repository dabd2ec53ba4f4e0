package report

import (
	"slices"
	"testing"
)

func TestParseTop(t *testing.T) {
	t.Parallel()
	got := parseTop(`File: bench
Type: cpu
Duration: 2.10s, Total samples = 1.20s (57.14%)
Showing nodes accounting for 1.10s, 91.67% of 1.20s total
      flat  flat%   sum%        cum   cum%
     0.30s 25.00% 25.00%      0.35s 29.17%  internal/runtime/syscall.Syscall6
     0.10s  8.33% 33.33%      0.60s 50.00%  example.org/a/pkg.(*T).Method (inline)
`)
	want := []Function{{"internal/runtime/syscall.Syscall6", 25, 29.17}, {"example.org/a/pkg.(*T).Method", 8.33, 50}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestPackagesOfAProfile(t *testing.T) {
	t.Parallel()
	c := Profile{Functions: []Function{
		{"internal/runtime/syscall/linux.Syscall6", 20, 20},
		{"runtime.mallocgc", 10, 12},
		{"internal/runtime/maps.(*Iter).Next", 5, 5},
		{"github.com/quorate/quorate/internal/store/quorum/membership.(*Node).run", 4, 50},
		{"github.com/quorate/quorate/internal/store/quorum/membership.newCall", 13, 13},
		{"github.com/redis/go-redis/v9.(*baseClient)._process.func1", 3, 30},
	}}.Chart("x")
	var got []string
	for _, b := range c.Bars {
		got = append(got, b.Name+" "+Percent.Format(b.Value))
	}
	want := []string{"internal/runtime/syscall/linux 20.0 %", "internal/store/quorum/membership 17.0 %", "runtime 15.0 %", "redis/go-redis/v9 3.0 %"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !c.Bars[1].Ours || c.Bars[0].Ours {
		t.Error("only our packages are ours")
	}
}
