package job

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/jobs"
)

// groupsOf returns what is wrong with the groups of the jobs.
func groupsOf(list []jobs.Job) (err error) {
	validateGroups(list, func(format string, args ...any) { err = errors.Join(err, fmt.Errorf(format, args...)) })
	return err
}

func TestValidateGroups(t *testing.T) {
	t.Parallel()
	good := []jobs.Job{{Name: "a", Group: "g", GroupSize: 2}, {Name: "b"}, {Name: "c", Group: "g", GroupSize: 2}}
	if err := groupsOf(good); err != nil {
		t.Error(err)
	}
	err := groupsOf(append(good, jobs.Job{Name: "d", Group: "none"}, jobs.Job{Name: "e", Group: "g", GroupSize: 1}))
	for _, want := range []string{`job "d" is in group "none" of size 0`, `group "g" has size 2 for job "a" and 1 for job "e"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
