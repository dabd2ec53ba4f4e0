package ledger_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// The stored form changes on purpose only: replicas of two releases read it.
func TestLogs(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_123).UTC()
	final := ledger.Log{Text: "a\n", Cut: 7}
	early, late := final, final
	early.At, early.Run = at, ledger.Entry{Replica: "a", Outcome: ledger.Running}
	late.At = at.Add(time.Millisecond)
	for want, log := range map[string]ledger.Log{
		`{"v":1,"cut":7,"text":"a\n"}`: final,
		`{"v":1,"cut":7,"text":"a\n","at":1700000000123,"run":{"v":2,"replica":"a","outcome":"running"}}`: early,
	} {
		text := ledger.EncodeLog(log)
		got, err := ledger.DecodeLog(text)
		if string(text) != want || err != nil || got != log {
			t.Errorf("%+v is stored as\n%s, want\n%s, and read as %+v, %v", log, text, want, got, err)
		}
	}
	for _, pair := range [][2]ledger.Log{{final, late}, {late, early}} {
		if !pair[0].Newer(pair[1]) || pair[1].Newer(pair[0]) || pair[0].Newer(pair[0]) {
			t.Errorf("the log of %v is not newer than that of %v alone", pair[0].At, pair[1].At)
		}
	}
	if _, err := ledger.DecodeLog([]byte(`{"v":2}`)); err == nil || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("a newer form = %v, want an error that says upgrade", err)
	}
}

// The characters that HTML escapes take no more bytes than others: stores bound what they keep.
func TestStoredTextsAreNotEscapedForHTML(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("<a&b>", 800)
	e := ledger.Entry{Error: text, Reason: ledger.TextReason(text), Lease: ledger.Lease{Poll: locking.Poll{Errors: text[:80]}}}
	plain := strings.Repeat("xaxbx", 800)
	usual := ledger.Entry{Error: plain, Reason: ledger.TextReason(plain), Lease: ledger.Lease{Poll: locking.Poll{Errors: plain[:80]}}}
	if got, want := len(ledger.EncodeNote(e)), len(ledger.EncodeNote(usual)); got != want {
		t.Errorf("the note has %d bytes, and %d with other letters", got, want)
	}
	if got, want := len(ledger.EncodeLog(ledger.Log{Text: text, At: time.Unix(1, 0), Run: e})), len(ledger.EncodeLog(ledger.Log{Text: plain, At: time.Unix(1, 0), Run: usual})); got != want {
		t.Errorf("the log has %d bytes, and %d with other letters", got, want)
	}
	if back, err := ledger.DecodeNote(ledger.EncodeNote(e)); err != nil || back.Error != text {
		t.Errorf("read back: %v, %.20s…", err, back.Error)
	}
}
