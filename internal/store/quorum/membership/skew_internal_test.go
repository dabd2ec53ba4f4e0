package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSkews(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for _, tt := range []struct {
		name    string
		offsets []time.Duration // of nodes a, b, c, …
		want    string          // whose clock, by how much
	}{
		{"all agree", []time.Duration{0, s, -s}, ""},
		{"no node has answered", nil, ""},
		{"at the limit", []time.Duration{0, 0, 5 * s}, ""},
		{"one node ahead", []time.Duration{0, 0, 6 * s}, "c6s"},
		{"one node behind, one ahead", []time.Duration{-9 * s, 0, 0, 0, 6 * s}, "a-9s e6s"},
		{"we are behind all", []time.Duration{6 * s, 6 * s, 7 * s}, "-6s"},
		{"we are ahead of all", []time.Duration{-6 * s, -6 * s, -7 * s}, "6s"},
		{"of two clocks ours is named", []time.Duration{-8 * s}, "8s"},
	} {
		var offsets []skew
		for i, by := range tt.offsets {
			offsets = append(offsets, skew{string(rune('a' + i)), by})
		}
		var got []string
		apart := skews(offsets, 5*s)
		for _, who := range slices.Sorted(maps.Keys(apart)) {
			got = append(got, fmt.Sprint(who, apart[who]))
		}
		if want := strings.Fields(tt.want); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

// One clock that is wrong does not make ours wrong.
func TestClockOffset(t *testing.T) {
	t.Parallel()
	if got, ok := behind([]skew{{by: -3 * time.Second}, {by: time.Hour}, {by: -2 * time.Second}}); got != 2*time.Second || !ok {
		t.Errorf("ours is ahead by %v, %v", got, ok)
	}
	if got, ok := new(Set).ClockOffset(); ok {
		t.Errorf("without a node it is %v", got)
	}
}
