package locking_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

func TestRequestCheck(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{
		"": "", "schedule": "", "manual": "", "backfill-2": "",
		"lock": "plain locks", "Manual": "lower-case", "a.b": "lower-case", "a b": "lower-case",
		"ä": "lower-case", strings.Repeat("x", 33): "33 bytes",
	} {
		err := locking.Request{Name: "j", Tick: time.Unix(1, 0), Stream: stream}.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("stream %q: %v, want %q", stream, err, want)
		}
	}
	if err := (locking.Request{Name: "j", Stream: "manual"}).Check(); err == nil {
		t.Error("a plain lock may have a stream")
	}
	for want, req := range map[string]locking.Request{
		"no name": {}, "whole milliseconds": {Name: "j", Tick: time.Unix(1, 1)}, "after 1970": {Name: "j", Tick: time.Unix(0, 0)},
	} {
		if err := req.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", req, err, want)
		}
	}
}

func TestInStream(t *testing.T) {
	t.Parallel()
	for stream, want := range map[string]string{"": locking.StreamSchedule, "manual": "manual"} {
		if got := (locking.Request{Stream: stream}).InStream(); got != want {
			t.Errorf("stream %q is kept as %q, want %q", stream, got, want)
		}
	}
}
