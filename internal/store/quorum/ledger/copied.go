package ledger

import (
	"cmp"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/records"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// NewSealed returns a ledger that also writes jobs to nodes that are sealed for a copy.
func NewSealed(set *membership.Set) *Ledger {
	l := New(set)
	l.lua.publish, l.lua.keepSet = l.lua.publish.AcceptSealed(), l.lua.keepSet.AcceptSealed()
	return l
}

// Copied returns what stores the entries of a job of another store, none of which is Running.
// Entries of ticks up to trimmed are missing.
func Copied(set *membership.Set, job string, list []ledger.Entry, trimmed time.Time) []transfer.Value {
	runs, notes := set.JobKey(job, "runs"), set.JobKey(job, "notes")
	var values []transfer.Value
	for _, e := range list {
		r := records.Record{
			Kind: records.Finished, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey(),
			Token: uint64(e.Token), Note: ledger.EncodeNote(e),
		}
		key := runs
		if !e.Ran() {
			r.Kind, r.Rank, key = records.NotRun, e.Rank(), notes
		}
		values = append(values, transfer.Value{Key: key, Score: fmt.Sprint(r.Tick.UnixMilli()), Text: r.Encode()})
	}
	if !trimmed.IsZero() { // see trim.lua
		last := fmt.Sprint(trimmed.UnixMilli())
		values = append(values, transfer.Value{Key: runs, Score: last, Text: "E"}, transfer.Value{Key: notes, Score: last, Text: "E"})
	}
	return values
}
