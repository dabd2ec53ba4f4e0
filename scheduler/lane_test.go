package scheduler

import "testing"

// The lanes of a job are found by their stream, and stay.
func TestLanes(t *testing.T) {
	t.Parallel()
	var j jobState
	scheduled, manual := j.lane(""), j.lane("manual")
	if scheduled == manual || j.lane("manual") != manual || j.lane("") != scheduled {
		t.Error("lanes are mixed up")
	}
}
