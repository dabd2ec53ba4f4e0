package roster

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// A set that is too large has only its count. Sets are read with limits.
func TestLargeSetsAreNotKept(t *testing.T) {
	t.Parallel()
	noise := func(int) string { return fmt.Sprint(rand.Uint64(), rand.Uint64()) }
	same := func(int) string { return strings.Repeat("x", 10_000) }
	for name, tc := range map[string]struct {
		jobs int
		text func(int) string
		kept bool
	}{
		"few": {50, same, true}, "too much": {200, same, false}, "too much when packed": {20_000, noise, false}, "none": {0, same, true},
	} {
		var all []JobText
		for i := range tc.jobs {
			all = append(all, JobText{Name: fmt.Sprint(i), Key: fmt.Sprint(i), Hash: "1", Settings: map[string]any{"text": tc.text(i)}})
		}
		packed, err := PackJobs(len(all), func(yield func(JobText) bool) {
			for _, j := range all {
				if !yield(j) {
					return
				}
			}
		})
		if err != nil || len(packed) > maxPackedSet {
			t.Fatalf("%s: %d bytes, %v", name, len(packed), err)
		}
		set, err := UnpackJobs(packed)
		if err != nil || set.Count != tc.jobs || tc.kept != (len(set.Jobs) == tc.jobs) || tc.kept && !reflect.DeepEqual(set.Jobs, all) {
			t.Errorf("%s: %d of %d jobs, %v", name, len(set.Jobs), set.Count, err)
		}
	}
	if _, err := UnpackJobs([]byte("nonsense")); err == nil {
		t.Error("nonsense is read")
	}
}
