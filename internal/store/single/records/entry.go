package records

import (
	"encoding/json"

	"github.com/quorate/quorate/internal/plainjson"
)

// A Kind of Entry. Those of runs differ in how certain it is that nobody else worked.
type Kind string

// The kinds.
const (
	Started  Kind = "S" // a run that has not ended
	Finished Kind = "F" // a run
	RanOut   Kind = "R" // a run whose lease had expired before its end
	Late     Kind = "L" // a run that ended when others may have worked
	NotRun   Kind = "N" // a tick that did not run
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Started, Finished, RanOut, Late, NotRun} }

// An Entry is the ledger's record of a run, or of a tick that did not run.
type Entry struct {
	Kind   Kind   `json:"kind"`
	Stream string `json:"stream"`
	// Tick is the order key.
	Tick    int64  `json:"tick"`
	Token   uint64 `json:"token,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // of the claim
	Owner   string `json:"owner,omitempty"`
	Holder  string `json:"holder,omitempty"`
	// Rank is that of a tick that did not run: the greatest stays.
	Rank byte `json:"rank,omitempty"`
	// Note is the scheduler's, as Note returns it.
	Note json.RawMessage `json:"note,omitempty"`
}

// Note returns a note unchanged, or as a JSON string if it is not JSON; nil for none.
func Note(note []byte) json.RawMessage {
	switch {
	case len(note) == 0:
		return nil
	case json.Valid(note):
		return note
	}
	text, _ := plainjson.Marshal(string(note)) // a string always encodes
	return text
}
