package listing

import "github.com/quorate/quorate/locking"

// A Lock is a held lock, or a run that never reported its end.
type Lock struct {
	Job        string         `json:"job"`
	State      string         `json:"state"` // held, unknown, partial, unfinished
	Holder     *string        `json:"holder"`
	Tick       *string        `json:"tick"`
	Stream     *string        `json:"stream"` // of the tick: schedule, manual, backfill
	Beside     bool           `json:"beside"` // runs next to other ticks (overlap: allow)
	Token      *locking.Token `json:"token"`
	Attempt    *int           `json:"attempt"`
	OnCrash    *string        `json:"on_crash"` // of the claim: skip or rerun
	Since      *string        `json:"since"`
	LeftMillis *int64         `json:"left_ms"` // null: it does not expire
	Nodes      string         `json:"nodes"`
	Done       bool           `json:"done"`
	Void       bool           `json:"void"`
}
