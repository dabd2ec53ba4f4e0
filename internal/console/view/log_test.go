package view_test

import (
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
)

// A log is taken apart where slog wrote it; what others wrote is not lost.
func TestLogLines(t *testing.T) {
	t.Parallel()
	text := "time=2027-03-01T12:00:01.500Z level=ERROR msg=\"a \\\"b\\\"\" n=1 m=\"x y\"\nplain <b>\ntime=2027-03-01T12:00:02.000Z level=WARN msg=short\n" +
		"time=odd level=INFO msg=\n\ntime=2027-03-01T12:00:03.000Z level=INFO msg=output stream=stderr line=\"no space\"\ntime=2027-03-01T12:00:03.000Z level=INFO msg=output stream=stdout line=a b=c\nrest"
	at := func(ms int) time.Time { return time.Date(2027, 3, 1, 12, 0, 0, ms*1e6, time.UTC) }
	want := []view.LogLine{
		{at(1500), "ERROR", `a "b"`, `n=1 m="x y"`},
		{Text: "plain <b>"},
		{at(2000), "WARN", "short", ""},
		{Text: "time=odd level=INFO msg="},
		{},
		{at(3000), "stderr", "no space", ""},
		{at(3000), "INFO", "output", "stream=stdout line=a b=c"},
		{Text: "rest"},
	}
	if got := (view.Log{Text: text}).Lines(); !slices.Equal(got, want) {
		t.Errorf("the lines: %q, want %q", got, want)
	}
}
