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
	Calls    int           `json:"tries,omitempty"`
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
		V: noteVersion, Tick: nominal, Calls: e.Calls, Spent: e.Spent, Trigger: e.Trigger, Parent: e.Parent, Replica: e.Replica,
		Outcome: e.Outcome, Reason: newReasonNote(e.Reason, mostReasons, maxText), Started: millis(e.Started),
		Finished: millis(e.Finished), Error: clip(e.Error, maxText), Stale: e.StaleWrites, Votes: e.Votes,
		Hash: e.Hash, Poll: pollNote(e.Poll), Beats: newBeatsNote(e.Beats, e.Started),
	})
	return b
}

// clip bounds a text of a job, in bytes.
func clip(text string, most int) string {
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
		Tick: fromMillis(n.Tick), Calls: n.Calls, Spent: n.Spent, Trigger: n.Trigger, Parent: n.Parent, Replica: n.Replica, Outcome: n.Outcome,
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

// A pollNote is the stored form of a Poll: a letter for each node. The number identifies
// the list of node names.
type pollNote locking.Poll

type pollJSON struct {
	Letters string `json:"n"`
	Rounds  uint8  `json:"r,omitempty"`
	List    uint32 `json:"l,omitempty"`
	Errors  string `json:"s,omitempty"`
}

// IsZero reports whether nothing is known.
func (p pollNote) IsZero() bool { return p.Answers[0] == 0 }

// MarshalJSON implements json.Marshaler.
func (p pollNote) MarshalJSON() ([]byte, error) {
	poll := locking.Poll(p)
	return plainjson.Marshal(pollJSON{poll.Letters(), p.Rounds, p.List, p.Errors})
}

// UnmarshalJSON implements json.Unmarshaler. Unknown letters stay: a later release may have
// more.
func (p *pollNote) UnmarshalJSON(b []byte) error {
	var stored pollJSON
	if err := json.Unmarshal(b, &stored); err != nil {
		return err
	}
	*p = pollNote{Rounds: stored.Rounds, List: stored.List, Errors: stored.Errors, Answers: answersOf(stored.Letters)}
	return nil
}

func answersOf(letters string) (answers [locking.MostNodes]locking.Answer) {
	for i := range min(len(letters), len(answers)) {
		answers[i] = locking.Answer(letters[i])
	}
	return answers
}

// beatsNote is the stored form of Beats; times count from the start of the run, in
// milliseconds.
type beatsNote struct {
	Count  int        `json:"n"`
	Failed int        `json:"f,omitempty"`
	Least  beatNote   `json:"least"`
	Lapse  *beatNote  `json:"lapse,omitempty"`
	Why    string     `json:"why,omitempty"`
	Last   []beatNote `json:"last"`
}

// maxWhy bounds the reason of a failed extension, in bytes.
const maxWhy = 500

type beatNote struct {
	At      int64  `json:"t"`
	Left    int64  `json:"l"`
	Took    int64  `json:"d"`
	Failed  bool   `json:"x,omitempty"`
	Letters string `json:"n,omitempty"`
}

func newBeatsNote(b *Beats, started time.Time) *beatsNote {
	if b == nil {
		return nil
	}
	from := millis(started)
	n := &beatsNote{Count: b.Count, Failed: b.Failed, Least: newBeatNote(b.Least, from), Why: clip(b.Why, maxWhy), Last: make([]beatNote, len(b.Last))}
	if b.Failed > 0 {
		lapse := newBeatNote(b.Lapse, from)
		n.Lapse = &lapse
	}
	for i, one := range b.Last {
		n.Last[i] = newBeatNote(one, from)
	}
	return n
}

func newBeatNote(b Beat, from int64) beatNote {
	letters := locking.Poll{Answers: b.Answers}
	return beatNote{millis(b.At) - from, b.Left.Milliseconds(), b.Took.Milliseconds(), b.Failed, letters.Letters()}
}

func (n *beatsNote) beats(started time.Time) *Beats {
	if n == nil || len(n.Last) == 0 { // the second is a record of others
		return nil
	}
	from := millis(started)
	b := &Beats{Count: n.Count, Failed: n.Failed, Least: n.Least.beat(from), Why: n.Why, Last: make([]Beat, len(n.Last))}
	if n.Lapse != nil {
		b.Lapse = n.Lapse.beat(from)
	}
	for i, one := range n.Last {
		b.Last[i] = one.beat(from)
	}
	return b
}

func (n beatNote) beat(from int64) Beat {
	return Beat{
		At: fromMillis(from + n.At), Left: time.Duration(n.Left) * time.Millisecond, Took: time.Duration(n.Took) * time.Millisecond,
		Failed: n.Failed, Answers: answersOf(n.Letters),
	}
}

// A reasonNote is the stored form of a Reason.
type reasonNote struct {
	Code    Code          `json:"c"`
	Variant Variant       `json:"v,omitempty"`
	Holder  string        `json:"h,omitempty"`
	Tick    int64         `json:"t,omitempty"` // Unix milliseconds, as all times
	Since   int64         `json:"s,omitempty"`
	Until   int64         `json:"u,omitempty"`
	By      string        `json:"b,omitempty"`
	Of      string        `json:"o,omitempty"`
	N       int           `json:"n,omitempty"`
	Most    int           `json:"m,omitempty"`
	Token   locking.Token `json:"k,omitempty"`
	Seen    locking.Token `json:"seen,omitempty"`
	Text    string        `json:"x,omitempty"`
	With    *reasonNote   `json:"w,omitempty"`
}

// Limits of a stored reason: the number of further reasons, and the bytes of the first and
// of other texts.
const (
	mostReasons   = 8
	maxReasonText = 1 << 10
)

func newReasonNote(r Reason, most, text int) *reasonNote {
	if r.IsZero() || most == 0 {
		return nil
	}
	n := &reasonNote{Code: r.Code, Variant: r.Variant}
	if d := r.Details; d != nil {
		n.Holder, n.By, n.Of = clip(d.Holder, maxReasonText), clip(d.By, maxReasonText), clip(d.Of, maxReasonText)
		n.Tick, n.Since, n.Until = millis(d.Tick), millis(d.Since), millis(d.Until)
		n.N, n.Most, n.Token, n.Seen = d.N, d.Most, d.Token, d.Seen
		n.Text = clip(d.Text, text)
		if d.With != nil {
			n.With = newReasonNote(*d.With, most-1, maxReasonText)
		}
	}
	return n
}

func (n *reasonNote) reason() Reason {
	if n == nil {
		return Reason{}
	}
	d := Details{
		Holder: n.Holder, By: n.By, Of: n.Of, N: n.N, Most: n.Most, Token: n.Token, Seen: n.Seen, Text: n.Text,
		Tick: fromMillis(n.Tick), Since: fromMillis(n.Since), Until: fromMillis(n.Until),
	}
	if n.With != nil {
		with := n.With.reason()
		d.With = &with
	}
	r := Reason{Code: n.Code, Variant: n.Variant}
	if d != (Details{}) {
		r.Details = &d
	}
	return r
}
