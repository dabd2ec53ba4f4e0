package scripts

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
)

// TrimLua declares trim(set, last) for rules that store records.
//
//go:embed trim.lua
var TrimLua string

// recordVersion is the version of the stored form of a Record.
const recordVersion = 1

// Kinds of a Record.
const (
	Started  byte = 'S' // a packed [Claim]; added by the next COMMIT, replaced by its own FINISH
	Finished byte = 'F' // the end of a claim; added by FINISH
	Late     byte = 'L' // the end of a claim that the node did not hold any more
	NotRun   byte = 'N' // a tick that did not run; the highest of its tick stays
)

// ranOut is stored for the end of a claim whose lock had expired. Readers treat it as
// Finished; the node needs it to answer a repeated FINISH.
const ranOut byte = 'R'

// A Record is one line of a job's ledger as nodes store it: a member of the sorted set
// ns:job:J:runs, whose score is the tick in milliseconds.
type Record struct {
	Kind    byte
	Rank    byte // of NotRun: a small letter, stored first, so nodes order records by it
	Stream  string
	Tick    time.Time
	Token   uint64
	Attempt int
	// Owner is the random value of the try; empty without one.
	Owner string
	// Holder is the holder that a Started record names.
	Holder string
	// Note is the scheduler's JSON.
	Note []byte
}

// envelope is the JSON of a Record. Kind and stream precede it, so scripts can find a
// record without decoding it.
type envelope struct {
	V int             `json:"v"`
	T int64           `json:"t"`
	K uint64          `json:"k,omitempty"`
	A int             `json:"a,omitempty"`
	O string          `json:"o,omitempty"`
	N json.RawMessage `json:"n,omitempty"`
}

// Encode returns the stored form: kind, stream, "|", the rank if it has one, JSON. A
// Started record is stored as a packed [Claim], of which a Record holds only a part. A
// note that is not JSON is stored as a JSON string.
func (r Record) Encode() string {
	note := asJSON(r.Note)
	if r.Kind == Started {
		return string(r.Kind) + Claim{
			Tick: r.Tick.UnixMilli(), Token: r.Token, Owner: r.Owner, Attempt: r.Attempt, Stream: r.Stream, Holder: r.Holder, Note: string(note),
		}.Pack()
	}
	b, _ := plainjson.Marshal(envelope{ // always valid
		V: recordVersion, T: r.Tick.UnixMilli(), K: r.Token, A: r.Attempt, O: r.Owner, N: note,
	})
	if r.Kind == NotRun {
		b = append([]byte{max(r.Rank, 'a')}, b...)
	}
	return string(r.Kind) + r.Stream + "|" + string(b)
}

// Decode is the inverse of Encode. It returns an error for anything else, and for a
// newer version.
func Decode(s string) (Record, error) {
	head, body, found := strings.Cut(s, "|")
	if !found || head == "" || !strings.ContainsRune("SFRLN", rune(head[0])) {
		return Record{}, fmt.Errorf("not a ledger record: %.40q", s)
	}
	if head[0] == Started {
		return started(s[1:])
	}
	var rank byte
	if head[0] == NotRun && body != "" {
		rank, body = body[0], body[1:]
	}
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		return Record{}, fmt.Errorf("decoding a ledger record: %w", err)
	}
	if e.V > recordVersion {
		return Record{}, fmt.Errorf("ledger record has version %d, this release reads up to %d: upgrade quorate", e.V, recordVersion)
	}
	kind := head[0]
	if kind == ranOut {
		kind = Finished
	}
	return Record{
		Kind: kind, Rank: rank, Stream: head[1:], Tick: time.UnixMilli(e.T).UTC(),
		Token: e.K, Attempt: e.A, Owner: e.O, Note: e.N,
	}, nil
}

// started decodes a packed claim as the record of its start.
func started(packed string) (Record, error) {
	c, err := Unpack(packed)
	if err != nil {
		return Record{}, fmt.Errorf("decoding a ledger record: %w", err)
	}
	return Record{
		Kind: Started, Stream: c.Stream, Tick: time.UnixMilli(c.Tick).UTC(),
		Token: c.Token, Attempt: c.Attempt, Owner: c.Owner, Holder: c.Holder, Note: asJSON([]byte(c.Note)),
	}, nil
}

// asJSON returns a note unchanged, or as a JSON string if it is not JSON.
func asJSON(note []byte) json.RawMessage {
	if len(note) == 0 {
		return nil
	}
	if !json.Valid(note) {
		note, _ = plainjson.Marshal(string(note)) // a string always encodes
	}
	return note
}

// A Claim is what COMMIT stores. Nodes store it as packed by the client, so it can also
// serve as the record of a run that started.
type Claim struct {
	Tick     int64 // ms; 0 for a plain lock
	Token    uint64
	Owner    string // the try's random value
	Mode     locking.Mode
	Attempt  int
	Overlaps bool
	Stream   string
	Holder   string
	Note     string // the scheduler's JSON
}

// fields is the number of fields before the note.
const fields = 8

// Pack returns the stored form: "tick token v mode attempt overlaps stream
// holder|note". The holder is escaped; a plain lock has the tick "-".
func (c Claim) Pack() string {
	tick, mode, overlaps := "-", "0", "0"
	if c.Tick != 0 {
		tick = strconv.FormatInt(c.Tick, 10)
	}
	if c.Mode == locking.AtLeastOnce {
		mode = "1"
	}
	if c.Overlaps {
		overlaps = "1"
	}
	return strings.Join([]string{
		tick, strconv.FormatUint(c.Token, 10), c.Owner, mode, strconv.Itoa(c.Attempt), overlaps,
		c.Stream, url.QueryEscape(c.Holder),
	}, " ") + "|" + c.Note
}

// Unpack is the inverse of Pack. It returns an error for anything else.
func Unpack(packed string) (Claim, error) {
	head, note, found := strings.Cut(packed, "|")
	words := strings.Split(head, " ")
	if !found || len(words) != fields {
		return Claim{}, fmt.Errorf("not a packed claim: %.60q", packed)
	}
	token, err1 := strconv.ParseUint(words[1], 10, 63)
	attempt, err2 := strconv.ParseUint(words[4], 10, 63)
	holder, err3 := url.QueryUnescape(words[7])
	var tick uint64
	var err4 error
	if words[0] != "-" {
		tick, err4 = strconv.ParseUint(words[0], 10, 63)
	}
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return Claim{}, fmt.Errorf("unpacking a claim: %w", err)
	}
	c := Claim{
		Tick: int64(tick), Token: token, Owner: words[2], Attempt: int(attempt), Overlaps: words[5] == "1",
		Stream: words[6], Holder: holder, Note: note,
	}
	if words[3] != "0" {
		c.Mode = locking.AtLeastOnce
	}
	return c, nil
}
