package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
)

// noteVersion is the version of the stored form of an Entry. Readers refuse newer ones.
const noteVersion = 2

// maxText bounds each text of a note, since every node stores one for every run.
const maxText = 8 << 10

// note is the stored form of an Entry. Job, stream and order key are its storage key; token
// and attempt are the claim's.
type note struct {
	V        int           `json:"v"`
	Tick     int64         `json:"tick,omitempty"` // Unix milliseconds; none: the order key
	Tries    int           `json:"tries,omitempty"`
	Spent    int           `json:"spent,omitempty"`
	Trigger  Trigger       `json:"trigger,omitempty"`
	Parent   string        `json:"parent,omitempty"`
	Replica  string        `json:"replica,omitempty"`
	Outcome  Outcome       `json:"outcome,omitempty"`
	Reason   *reasonNote   `json:"reason,omitempty"`
	Started  int64         `json:"started,omitempty"`  // Unix milliseconds
	Finished int64         `json:"finished,omitempty"` // Unix milliseconds
	Error    string        `json:"error,omitempty"`
	Stale    int           `json:"stale,omitempty"`
	Votes    locking.Votes `json:"votes,omitzero"`
	Hash     string        `json:"hash,omitempty"`
	Poll     pollNote      `json:"poll,omitzero"`
	Beats    *beatsNote    `json:"beats,omitempty"`
}

// lastMilli is the last millisecond of the year 9999: texts cannot have later times.
const lastMilli = 253402300799999

// EncodeNote returns the stored form of e without job, stream, order key, token and
// attempt. Long texts are cut.
func EncodeNote(e Entry) []byte {
	var nominal int64
	if !e.Order.IsZero() {
		nominal = millis(e.Tick)
	}
	b, _ := plainjson.Marshal(note{ // numbers and strings always encode
		V: noteVersion, Tick: nominal, Tries: e.Tries, Spent: e.Spent, Trigger: e.Trigger, Parent: e.Parent, Replica: e.Replica,
		Outcome: e.Outcome, Reason: newReasonNote(e.Reason, mostReasons, maxText), Started: millis(e.Started),
		Finished: millis(e.Finished), Error: clip(e.Error), Stale: e.StaleWrites, Votes: e.Votes,
		Hash: e.Hash, Poll: pollNote(e.Poll), Beats: newBeatsNote(e.Beats, e.Started),
	})
	return b
}

// clip bounds a text of a job, in bytes.
func clip(text string) string { return clipTo(text, maxText) }

func clipTo(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " …"
}

// DecodeNote is the inverse of EncodeNote; Placed adds the rest. An empty note is a zero
// Entry.
func DecodeNote(b []byte) (Entry, error) {
	if len(b) == 0 {
		return Entry{}, nil
	}
	var n note
	if err := json.Unmarshal(b, &n); err != nil {
		return Entry{}, fmt.Errorf("decoding a ledger note: %w", err)
	}
	if n.V > noteVersion {
		return Entry{}, fmt.Errorf("ledger note has version %d, this release reads up to %d: upgrade quorate", n.V, noteVersion)
	}
	for _, ms := range []int64{n.Tick, n.Started, n.Finished} {
		if ms < 0 || ms > lastMilli {
			return Entry{}, fmt.Errorf("a ledger note has the time %d ms, beyond the year 9999", ms)
		}
	}
	started := fromMillis(n.Started)
	return Entry{
		Tick: fromMillis(n.Tick), Tries: n.Tries, Spent: n.Spent, Trigger: n.Trigger, Parent: n.Parent, Replica: n.Replica, Outcome: n.Outcome,
		Reason: n.Reason.reason(), Started: started, Finished: fromMillis(n.Finished),
		Error: n.Error, StaleWrites: n.Stale, Hash: n.Hash,
		Lease: Lease{Votes: n.Votes, Poll: locking.Poll(n.Poll), Beats: n.Beats.beats(started)},
	}, nil
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
