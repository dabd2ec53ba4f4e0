package scheduler

import "testing"

// The queues of a job are found by their stream, and stay.
func TestLanes(t *testing.T) {
	t.Parallel()
	var j jobState
	scheduled, manual := j.queueOf(""), j.queueOf("manual")
	if scheduled == manual || j.queueOf("manual") != manual || j.queueOf("") != scheduled {
		t.Error("queues are mixed up")
	}
}
