package served_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/quorate/quorate/internal/served"
	"github.com/quorate/quorate/scheduler/roster"
)

// A replica is alone with the jobs that no other serves, and with those whose labels no other has.
func TestAlone(t *testing.T) {
	t.Parallel()
	labels := func(of string) any { return map[string]any{"labels": map[string]any{"gpu": of}} }
	sets := map[string]roster.JobSet{
		"old": {Count: 3, Jobs: []roster.JobText{{Key: "draw", Name: "draw", Settings: labels("yes")}, {Key: "mails", Name: "mails"}, {Key: "sums", Name: "sums"}}},
		"new": {Count: 2, Jobs: []roster.JobText{{Key: "draw", Name: "draw", Settings: labels("yes")}, {Key: "mails", Name: "letters"}}},
		"big": {Count: 9},
	}
	reads := 0
	read := func(hash string) (roster.JobSet, error) {
		reads++
		set, ok := sets[hash]
		if !ok {
			return set, roster.ErrNoJobSet
		}
		return set, nil
	}
	gpu := map[string]string{"gpu": "yes", "zone": "a"}
	plain, drawing, newer := roster.Replica{ConfigHash: "old"}, roster.Replica{ConfigHash: "old", Labels: gpu}, roster.Replica{ConfigHash: "new"}
	for name, tt := range map[string]struct {
		takers []roster.Replica
		want   [][]string
		err    error
		reads  int
	}{
		"alike":             {[]roster.Replica{drawing, drawing}, [][]string{nil, nil}, nil, 0},
		"a label":           {[]roster.Replica{plain, drawing, plain}, [][]string{nil, {"draw"}, nil}, nil, 1},
		"another label":     {[]roster.Replica{drawing, {ConfigHash: "old", Labels: map[string]string{"gpu": "no"}}}, [][]string{{"draw"}, nil}, nil, 1},
		"a job":             {[]roster.Replica{plain, newer}, [][]string{{"sums"}, nil}, nil, 2},
		"both":              {[]roster.Replica{newer, drawing}, [][]string{nil, {"draw", "sums"}}, nil, 2},
		"an unknown set":    {[]roster.Replica{plain, {ConfigHash: "lost"}}, nil, roster.ErrNoJobSet, 2},
		"a set without all": {[]roster.Replica{plain, {ConfigHash: "big"}}, nil, roster.ErrSetTooLarge, 2},
	} {
		reads = 0
		got, err := served.Alone(tt.takers, read)
		if !errors.Is(err, tt.err) || reads != tt.reads || !slices.EqualFunc(got, tt.want, slices.Equal) {
			t.Errorf("%s: %q, %v after %d reads; want %q, %v, %d", name, got, err, reads, tt.want, tt.err, tt.reads)
		}
	}
}
