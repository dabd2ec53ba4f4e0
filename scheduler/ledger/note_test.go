package ledger_test

import (
	"cmp"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

func TestNoteKeepsAnEntry(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_763_712_000_123).UTC()
	full := ledger.Entry{
		Calls: 3, Trigger: ledger.BySchedule, Parent: "p@1", Replica: "a", Outcome: ledger.Failed,
		Reason: ledger.TextReason("words"), Started: at, Finished: at.Add(time.Minute), Error: "it broke: \"x\"\n\x00",
		StaleWrites: 2, Hash: "3f786850e387",
		Lease: ledger.Lease{
			Votes: locking.Votes{For: 3, Of: 5},
			Poll:  locking.Poll{Rounds: 2, List: 7, Answers: [locking.MostNodes]locking.Answer{'+', 'u', '+', 'h', '+'}, Errors: `b: "silent" <é>`},
		},
	}
	asked := full
	asked.Job, asked.Stream, asked.Tick, asked.Order = "j", "manual", at.Add(-time.Hour), at
	scheduled := full
	scheduled.Job, scheduled.Tick = "j", at
	for name, e := range map[string]ledger.Entry{"scheduled": scheduled, "asked for": asked} {
		got, err := ledger.DecodeNote(ledger.EncodeNote(e))
		if got = got.Placed("j", cmp.Or(e.Stream, locking.StreamSchedule), at); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: decoded as %+v, %v; want %+v", name, got, err, e)
		}
	}
	for name, e := range map[string]ledger.Entry{"full": full, "empty": {}} {
		got, err := ledger.DecodeNote(ledger.EncodeNote(e))
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s: decoded as %+v, %v; want %+v", name, got, err, e)
		}
	}
}

// A note of others may count extensions and have none.
func TestNoteWithoutBeats(t *testing.T) {
	t.Parallel()
	if got, err := ledger.DecodeNote([]byte(`{"v":2,"beats":{"n":1,"f":1}}`)); err != nil || got.Beats != nil {
		t.Errorf("decoded as %+v, %v", got.Beats, err)
	}
}

// Extensions are kept to the millisecond, and so are no more of them than there is
// room for.
func TestNoteKeepsBeats(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_763_712_000_123).UTC()
	ok := ledger.Beat{At: at.Add(5 * time.Second), Left: 10 * time.Second, Took: 2 * time.Millisecond, Answers: [locking.MostNodes]locking.Answer{'+', '+', 'u'}}
	bad := ledger.Beat{At: at.Add(10 * time.Second), Left: 5 * time.Second, Took: time.Second, Failed: true, Answers: [locking.MostNodes]locking.Answer{'+', 'u', 'u'}}
	for name, want := range map[string]ledger.Beats{
		"some failed": {Count: 2, Failed: 1, Least: bad, Lapse: bad, Why: "no quorum", Last: []ledger.Beat{ok, bad}},
		"none failed": {Count: 1, Least: ok, Last: []ledger.Beat{ok}},
	} {
		got, err := ledger.DecodeNote(ledger.EncodeNote(ledger.Entry{Started: at, Lease: ledger.Lease{Beats: &want}}))
		if err != nil || !reflect.DeepEqual(got.Beats, &want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got.Beats, err, want)
		}
	}
}

// What belongs to the claim is not in the note, where it could contradict it.
func TestNoteLeavesTheClaimOut(t *testing.T) {
	t.Parallel()
	b := ledger.EncodeNote(ledger.Entry{Job: "nightly", Tick: time.Now(), Token: 7, Attempt: 2})
	if got, err := ledger.DecodeNote(b); err != nil || got != (ledger.Entry{}) {
		t.Errorf("decoded as %+v, %v; want an empty entry", got, err)
	}
}

func TestNoteCutsLongTexts(t *testing.T) {
	t.Parallel()
	b := ledger.EncodeNote(ledger.Entry{Error: strings.Repeat("ä", 100_000), Reason: ledger.TextReason(strings.Repeat("x", 100_000))})
	if len(b) > 20_000 {
		t.Errorf("a note has %d bytes", len(b))
	}
	e, err := ledger.DecodeNote(b)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{e.Error, e.Reason.String()} {
		if !strings.HasSuffix(text, " …") || !utf8.ValidString(text) || strings.ContainsRune(text, utf8.RuneError) {
			t.Errorf("cut to %q…, want whole letters and a mark at the end", text[len(text)-20:])
		}
	}
}

// Fields come with releases; a replica of the one before must go on reading.
func TestNoteMayHaveMoreFields(t *testing.T) {
	t.Parallel()
	e, err := ledger.DecodeNote([]byte(`{"v":2,"outcome":"failed","of_a_later_release":{"x":1}}`))
	if err != nil || e != (ledger.Entry{Outcome: ledger.Failed}) {
		t.Errorf("decoded as %+v, %v", e, err)
	}
}

func TestDecodeNoteRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ note, want string }{
		"newer version": {`{"v":3}`, "upgrade"},
		"no JSON":       {`started`, "decoding"},
	} {
		if _, err := ledger.DecodeNote([]byte(tt.note)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: DecodeNote = %v, want an error with %q", name, err, tt.want)
		}
	}
	if e, err := ledger.DecodeNote(nil); err != nil || e != (ledger.Entry{}) {
		t.Errorf("no note: decoded as %+v, %v; want an empty entry", e, err)
	}
}
