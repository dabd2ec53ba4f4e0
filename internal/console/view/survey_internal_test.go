package view

import (
	"fmt"
	"testing"
	"time"
)

// A survey remembers only some of the jobs that nobody asks for any more: those of the latest calls.
func TestSurveyForgetsOthers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var s *survey
	for n := range 3 * mostAside {
		s = newSurvey(s, []string{fmt.Sprint("job-", n)}, now.Add(time.Duration(n)*time.Second))
	}
	latest := fmt.Sprint("job-", 3*mostAside-2)
	if s.aside["job-0"] != nil || s.aside[latest] == nil || len(s.aside) != mostAside {
		t.Errorf("%d are remembered, the first one: %v, the latest one: %v", len(s.aside), s.aside["job-0"], s.aside[latest])
	}
	if s = newSurvey(s, nil, now.Add(2*SurveySpan)); len(s.aside) != 0 {
		t.Errorf("%d are remembered for longer than anybody looks back", len(s.aside))
	}
}
