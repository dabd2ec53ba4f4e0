package ledger

import (
	"cmp"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Copied returns what stores the entries of a job of another store, none of which is Running.
// Entries of ticks up to trimmed are missing.
func Copied(job string, list []ledger.Entry, trimmed time.Time) []kv.Write {
	var writes []kv.Write
	for _, e := range list {
		r := records.Entry{
			Kind: records.Finished, Stream: cmp.Or(e.Stream, locking.StreamSchedule), Tick: e.OrderKey().UnixMilli(),
			Token: uint64(e.Token), Note: ledger.EncodeNote(e),
		}
		if !e.Ran() {
			r.Kind, r.Rank = records.NotRun, e.Rank()
		}
		writes = append(writes, records.Put(records.EntryKey(job, r), r))
	}
	if !trimmed.IsZero() {
		writes = append(writes, records.Put(pastKey(job), past{Trimmed: trimmed.UnixMilli()}))
	}
	return writes
}
