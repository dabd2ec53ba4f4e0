package view

import (
	"errors"
	"strings"
	"testing"

	"github.com/quorate/quorate/scheduler/roster"
)

// Whoever mistypes a job is told the nearest name.
func TestNearestJobIsNamed(t *testing.T) {
	t.Parallel()
	d := newDirectory([]roster.Version{{JobInfo: roster.JobInfo{Name: "nightly-report", Key: "report"}}, {JobInfo: roster.JobInfo{Name: "sweep"}}})
	for name, want := range map[string]string{
		"nightly-reprot": "did you mean nightly-report? quorate jobs", "sweeep": "did you mean sweep?", "quite-another": "in this cluster; quorate jobs lists them",
	} {
		if err := d.Require(d.Key(name)); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"nightly-report", "sweep"} {
		if err := d.Require(d.Key(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
