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

func TestShort(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"internal/runtime/syscall.Syscall6":                           "syscall.Syscall6",
		"example.org/pkg.(*AVeryLongTypeName).AndAVeryLongMethodName": "pkg.(*AVeryLongTypeName).AndAVeryLo…",
		"main.main": "main.main",
	} {
		if got := short(name); got != want {
			t.Errorf("%s is shortened to %s, want %s", name, got, want)
		}
	}
}
