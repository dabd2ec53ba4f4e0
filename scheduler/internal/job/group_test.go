package job

import (
	"strings"
	"testing"
)

func TestValidateGroups(t *testing.T) {
	t.Parallel()
	good := []Definition{{Name: "a", Limits: Limits{Group: "g", GroupSize: 2}}, {Name: "b"}, {Name: "c", Limits: Limits{Group: "g", GroupSize: 2}}}
	if err := validateGroups(good); err != nil {
		t.Error(err)
	}
	err := validateGroups(append(good, Definition{Name: "d", Limits: Limits{Group: "none"}}, Definition{Name: "e", Limits: Limits{Group: "g", GroupSize: 1}}))
	for _, want := range []string{`job "d" is in group "none" of size 0`, `group "g" has size 2 for job "a" and 1 for job "e"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}
