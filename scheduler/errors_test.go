package scheduler

import (
	"strings"
	"testing"
)

func TestStuckErrorSaysWhatIsStuck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		jobs []string
		want string
	}{
		{[]string{"a", "b"}, "still run: a, b"},
		{nil, "no job runs"},
	} {
		if got := (&StuckError{Jobs: tt.jobs}).Error(); !strings.Contains(got, tt.want) {
			t.Errorf("with jobs %q it says %q, want %q", tt.jobs, got, tt.want)
		}
	}
}
