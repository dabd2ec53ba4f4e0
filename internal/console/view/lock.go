package view

import "github.com/quorate/quorate/locking"

// A Lock is a held lock, or a run that never reported its end.
type Lock struct {
	Job        string         `json:"job" jsonschema:"Name of the job or the lock."`
	State      string         `json:"state" jsonschema:"held, unknown, partial or unfinished."`
	Holder     *string        `json:"holder" jsonschema:"Replica that holds it."`
	Tick       *string        `json:"tick"`
	Stream     *string        `json:"stream" jsonschema:"Stream of the tick: schedule, manual or backfill."`
	Beside     bool           `json:"beside" jsonschema:"The run may overlap with other ticks (overlap: allow)."`
	Token      *locking.Token `json:"token" jsonschema:"Fencing token of the claim."`
	Attempt    *int           `json:"attempt"`
	OnCrash    *string        `json:"on_crash" jsonschema:"Policy of the claim: skip or rerun."`
	Since      *string        `json:"since" jsonschema:"When the claim was granted."`
	LeftMillis *int64         `json:"left_ms" jsonschema:"Time until the lease ends; null: it has no end."`
	Nodes      string         `json:"nodes" jsonschema:"How many nodes hold it, of all, such as 3/5."`
	Done       bool           `json:"done" jsonschema:"The claim was finished, though a node still holds the lock."`
	Void       bool           `json:"void" jsonschema:"The claim was given back, though a node still holds the lock."`
}
