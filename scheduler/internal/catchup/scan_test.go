package catchup

import (
	"errors"
	"testing"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/job"
)

func TestScansAreRepeated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		err    error
		urgent bool
		after  time.Duration
		again  bool
	}{
		{&locking.AcquireError{Reason: locking.ErrNoQuorum}, true, 59 * time.Minute, true},
		{&locking.AcquireError{Reason: locking.ErrNoQuorum}, true, time.Hour, false},
		{&locking.AcquireError{Reason: locking.ErrNoQuorum}, false, time.Hour, true},
		{errors.New("written by a newer release"), true, 0, false},
		{errors.New("written by a newer release"), false, 0, false},
	}
	for _, tt := range tests {
		s := Scan{Span: Span{Job: job.New(jobs.Job{Hash: "1"}), Before: noon}, Urgent: tt.urgent, Found: &Finding{Err: tt.err}}
		if got := s.repeats(noon.Add(tt.after)); got != tt.again {
			t.Errorf("%v after %v, urgent %t: again %t", tt.err, tt.after, tt.urgent, got)
		}
	}
}
