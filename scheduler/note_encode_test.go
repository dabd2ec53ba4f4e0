package scheduler

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/quorate/quorate/locking"
)

// What is written by hand is what encoding/json writes, so that a field which is
// forgotten there is missed here.
func TestNotesAreEncodedAsJSON(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.StringMatching(`[ -~]{0,20}`), rapid.Custom(func(t *rapid.T) string {
		return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) // also what is no UTF-8
	}))
	number := rapid.OneOf(rapid.Just(0), rapid.Int())
	rapid.Check(t, func(t *rapid.T) {
		n := note{
			V: number.Draw(t, "v"), Tick: int64(number.Draw(t, "tick")), Tries: number.Draw(t, "tries"),
			Trigger: Trigger(text.Draw(t, "trigger")), Parent: text.Draw(t, "parent"), Replica: text.Draw(t, "replica"),
			Outcome: Outcome(text.Draw(t, "outcome")), Reason: drawReason(t, text, number),
			Started: int64(number.Draw(t, "started")), Finished: int64(number.Draw(t, "finished")),
			Error: text.Draw(t, "error"), Stale: number.Draw(t, "stale"),
			Votes: locking.Votes{For: number.Draw(t, "for"), Of: number.Draw(t, "of")}, Hash: text.Draw(t, "hash"),
			Poll: pollNote{
				Rounds: rapid.Uint8().Draw(t, "rounds"), List: rapid.Uint32().Draw(t, "list"), Said: text.Draw(t, "said"),
				Answers: answersOf(rapid.StringMatching(`[-+.haur]{0,7}`).Draw(t, "answers")),
			},
		}
		if rapid.Bool().Draw(t, "lasted") {
			n.Beats = &beatsNote{
				Count: number.Draw(t, "beats"), Why: text.Draw(t, "why"), Lapse: &beatNote{At: int64(number.Draw(t, "at")), Failed: true},
				Last: []beatNote{{Letters: "+u"}},
			}
		}
		want, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		if got := n.encode(); string(got) != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// drawReason yields any reason, or none.
func drawReason(t *rapid.T, text *rapid.Generator[string], number *rapid.Generator[int]) *reasonNote {
	if rapid.Bool().Draw(t, "without reason") {
		return nil
	}
	return &reasonNote{Code: Code(text.Draw(t, "code")), Text: text.Draw(t, "reason"), N: number.Draw(t, "n"), With: &reasonNote{}}
}
