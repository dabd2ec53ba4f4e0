package nodes

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// recordVersion is the version of the stored form of a Record.
const recordVersion = 1

// Kinds of a Record.
const (
	KindStarted  byte = 'S' // a claim; added by COMMIT, replaced by its finish
	KindFinished byte = 'F' // the end of a claim; added by FINISH
	KindLate     byte = 'L' // the end of a claim that the node did not hold any more
	KindNotRun   byte = 'N' // a tick that did not run; the highest of its tick stays
)

// A Record is one line of a job's ledger as nodes store it: a member of the
// sorted set ns:job:J:runs, whose score is the tick in milliseconds.
type Record struct {
	Kind    byte
	Rank    byte // of KindNotRun, a small letter; stands first, so that nodes order records by it
	Stream  string
	Tick    time.Time
	Token   uint64
	Attempt int
	// Owner is the random value of the attempt; empty if there was none.
	Owner string
	// Note is the scheduler's own JSON.
	Note []byte
}

// envelope is the JSON of a Record. Kind and stream stand before it, so that
// scripts find a record without decoding it.
type envelope struct {
	V int             `json:"v"`
	T int64           `json:"t"`
	K uint64          `json:"k,omitempty"`
	A int             `json:"a,omitempty"`
	O string          `json:"o,omitempty"`
	N json.RawMessage `json:"n,omitempty"`
}

// Encode returns the stored form: kind, stream, "|", the rank if it has one, JSON. A note that is not
// JSON is kept as a JSON string.
func (r Record) Encode() string {
	note := json.RawMessage(r.Note)
	if len(note) > 0 && !json.Valid(note) {
		note, _ = json.Marshal(string(r.Note)) // a string always encodes
	}
	b, _ := json.Marshal(envelope{ // numbers, strings and valid JSON always encode
		V: recordVersion, T: r.Tick.UnixMilli(), K: r.Token, A: r.Attempt, O: r.Owner, N: note,
	})
	if r.Kind == KindNotRun {
		b = append([]byte{max(r.Rank, 'a')}, b...)
	}
	return string(r.Kind) + r.Stream + "|" + string(b)
}

// DecodeRecord is the inverse of Encode. It returns an error for what is not a
// record, and for one of a newer version.
func DecodeRecord(s string) (Record, error) {
	head, body, found := strings.Cut(s, "|")
	if !found || head == "" || !strings.ContainsRune("SFLN", rune(head[0])) {
		return Record{}, fmt.Errorf("not a ledger record: %.40q", s)
	}
	var rank byte
	if head[0] == KindNotRun && body != "" {
		rank, body = body[0], body[1:]
	}
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return Record{}, fmt.Errorf("decoding a ledger record: %w", err)
	}
	if e.V > recordVersion {
		return Record{}, fmt.Errorf("ledger record has version %d, this release reads up to %d: upgrade quorate", e.V, recordVersion)
	}
	return Record{
		Kind: head[0], Rank: rank, Stream: head[1:], Tick: time.UnixMilli(e.T).UTC(),
		Token: e.K, Attempt: e.A, Owner: e.O, Note: e.N,
	}, nil
}
