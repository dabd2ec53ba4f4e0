package view

import (
	"cmp"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A Mark shows an outcome by colour, shape and word, on pages and terminals alike.
type Mark struct {
	Level       Level
	Shape, Word string
}

var marks = map[ledger.Outcome]Mark{
	ledger.Succeeded:   {Good, "✓", "succeeded"},
	ledger.Running:     {Busy, "▶", "running"},
	ledger.Failed:      {Bad, "✕", "failed"},
	ledger.TimedOut:    {Bad, "!", "timed out"},
	ledger.LeaseLost:   {Bad, "!", "lease lost"},
	ledger.Interrupted: {Bad, "!", "interrupted"},
	ledger.Missed:      {Warn, "△", "missed"},
	ledger.Unreadable:  {Warn, "?", "unreadable"},
	ledger.Skipped:     {Calm, "◇", "skipped"},
	ledger.Cancelled:   {Warn, "⊘", "cancelled"},
}

// MarkOf returns the mark of an outcome; one of its own for an outcome that is unknown.
func MarkOf(o ledger.Outcome) Mark { return cmp.Or(marks[o], Mark{Calm, "·", "never"}) }
