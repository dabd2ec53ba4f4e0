package roster

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
)

// A Judge computes the entries of ticks that the ledger does not have, as far as anybody
// knows.
type Judge struct {
	of  Background
	key string
}

// Judge returns a Judge for the published job and its known entries. Its Account must be
// that of the job; see Versions. It asks the ledger what it has dropped.
func (v Version) Judge(ctx context.Context, ledger ledger.Store, known []ledger.Entry, now time.Time) (Judge, error) {
	b := Background{Account: v.Account, RememberedSince: Remembered(ledger)}
	var err error
	if b.trimmed, err = TrimmedUpTo(ctx, ledger, v.StoredAs()); err != nil {
		return Judge{}, err
	}
	b.Absence = Removal(v.Account, []JobInfo{v.JobInfo}, now)
	for _, e := range known {
		if e.Stream == "" && Attended(e) {
			b.Ticks = append(b.Ticks, e.Tick)
		}
	}
	return Judge{b, v.StoredAs()}, nil
}

// Removed is when the job was removed from the configuration; zero if it is served, or was
// served to the end.
func (j Judge) Removed() time.Time { return j.of.Absence.from }

// Remembered is since when the ledger remembers. Older entries may be lost.
func (j Judge) Remembered() time.Time { return j.of.RememberedSince }

// Absent reports whether the job was in no configuration when the tick came.
func (j Judge) Absent(tick time.Time) bool { return j.of.Absence.Has(tick) }

// Entry is what a listing shows of the tick.
func (j Judge) Entry(tick time.Time) ledger.Entry {
	return ledger.Entry{Job: j.key, Tick: tick, Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.Reason{Code: j.of.Code(tick)}, Computed: true}
}
