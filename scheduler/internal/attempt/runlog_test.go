package attempt

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/quorate/quorate/scheduler/ledger"
)

// The end of a log is kept, in whole lines, within its bound, and the rest is counted.
func TestRunLogKeepsTheEnd(t *testing.T) {
	t.Parallel()
	for _, lines := range []int{0, 1, 10, ledger.MaxLog / 10, ledger.MaxLog, 5 * ledger.MaxLog} {
		var l runLog
		written := 0
		for n := range lines {
			line := fmt.Sprintf("line %d\n", n)
			written += len(line)
			if _, err := l.Write([]byte(line)); err != nil {
				t.Fatal(err)
			}
		}
		text, cut := l.end()
		if len(text) > ledger.MaxLog || len(text)+cut != written {
			t.Errorf("%d lines: %d bytes are kept and %d cut of %d", lines, len(text), cut, written)
		}
		if cut > 0 && len(text) < ledger.MaxLog-100 {
			t.Errorf("%d lines: only %d bytes are kept", lines, len(text))
		}
		if lines > 0 && !strings.HasSuffix(text, fmt.Sprintf("line %d\n", lines-1)) {
			t.Errorf("%d lines: the last one is missing", lines)
		}
		if text != "" && !strings.HasPrefix(text, "line ") {
			t.Errorf("%d lines: the log begins with half of one: %.20q", lines, text)
		}
	}
}

func TestRunLogCutsALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	var l runLog
	_, _ = l.Write([]byte(strings.Repeat("é", ledger.MaxLog) + "\n"))
	text, cut := l.end()
	if len(text) > ledger.MaxLog || cut != ledger.MaxLog+2 || !strings.HasPrefix(text, "éé") || !strings.HasSuffix(text, "éé\n") {
		t.Errorf("%d bytes are kept, %d cut: %.10q…", len(text), cut, text)
	}
}

// Lines from level info on are kept at any level of the service's log, without the common
// attributes.
func TestRunLogTakesLinesFromInfoOn(t *testing.T) {
	t.Parallel()
	var l runLog
	var own strings.Builder
	base := slog.New(slog.NewTextHandler(&own, &slog.HandlerOptions{Level: slog.LevelWarn}))
	log := slog.New(l.handler(base.With("run", "j@1"))).With("customer", 7).WithGroup("g")
	log.Debug("too fine")
	log.Info("begun", "n", 1)
	log.Warn("slow")
	text, _ := l.end()
	if got := strings.Split(strings.TrimSpace(text), "\n"); len(got) != 2 ||
		!strings.HasSuffix(got[0], "Z level=INFO msg=begun customer=7 g.n=1") || !strings.HasPrefix(got[0], "time=") ||
		!strings.HasSuffix(got[1], "level=WARN msg=slow customer=7") {
		t.Errorf("the log keeps\n%s", text)
	}
	if !strings.Contains(own.String(), "msg=slow run=j@1 customer=7") || strings.Contains(own.String(), "begun") {
		t.Errorf("the service's own log has\n%s", own.String())
	}
}
