package attempt

import (
	"errors"
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
