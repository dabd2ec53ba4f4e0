package attempt

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// The stored extensions of a run are bounded: the last, the tightest, and the last that
// failed.
func TestPulseIsBounded(t *testing.T) {
	t.Parallel()
	var p pulse
	begun := time.Unix(1_800_000_000, 0)
	at := func(n int) time.Time { return begun.Add(time.Duration(n) * time.Second) }
	for n := 1; n <= 1000; n++ {
		x := locking.Extension{Left: 10 * time.Second, Took: time.Millisecond}
		switch n {
		case 400:
			x.Left, x.Err = 4*time.Second, errors.New(strings.Repeat("long ", 1000))
		case 500:
			x.Left = 3 * time.Second
		}
		p.add(x, at(n))
	}
	b := p.beats.Load()
	if b.Count != 1000 || b.Failed != 1 || len(b.Last) != maxBeats {
		t.Errorf("%d beats, %d failed, %d kept", b.Count, b.Failed, len(b.Last))
	}
	if first, last := b.Last[0].At, b.Last[maxBeats-1].At; !first.Equal(at(1000-maxBeats+1).Add(-time.Millisecond)) || !last.Equal(at(1000).Add(-time.Millisecond)) {
		t.Errorf("kept from %v to %v", first, last)
	}
	if b.Least.Left != 3*time.Second || b.Lapse.Left != 4*time.Second || !b.Lapse.Failed {
		t.Errorf("least %+v, lapse %+v", b.Least, b.Lapse)
	}
	if n := len(ledger.EncodeNote(ledger.Entry{Started: begun, Lease: ledger.Lease{Beats: b}})); n > 2000 {
		t.Errorf("the note has %d bytes", n)
	}
}

// Readers of a pulse keep what they got.
func TestPulseDoesNotChangeWhatWasRead(t *testing.T) {
	t.Parallel()
	var p pulse
	for range maxBeats + 1 {
		p.add(locking.Extension{Left: time.Second}, time.Unix(1, 0))
	}
	before := p.beats.Load()
	first := before.Last[0]
	p.add(locking.Extension{Left: time.Minute}, time.Unix(9, 0))
	p.add(locking.Extension{Left: time.Minute}, time.Unix(9, 0))
	if before.Last[0] != first || before.Last[len(before.Last)-1].Left != time.Second || before.Count != maxBeats+1 {
		t.Errorf("what was read has become %+v", before)
	}
}

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
