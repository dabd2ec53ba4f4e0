package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. It calls read for each set of a live replica that the published
// versions alone do not tell.
func Versions(published []roster.JobInfo, live []roster.Replica, read func(hash string) (roster.JobSet, error)) ([]roster.Version, error) {
	hashes, sets := presence.ToRead(published, live)
	for _, hash := range hashes {
		switch set, err := read(hash); {
		case err == nil:
			sets.Add(hash, set)
		case !errors.Is(err, roster.ErrNoJobSet): // it is not stored yet, or was too large
			return nil, err
		}
	}
	return presence.Versions(published, live, sets), nil
}

// Strangers returns for each live replica the names of jobs that it serves in another way than
// one beside it, sorted. A start, a drain or a change of jobs explains that for a while: then
// there are none. read returns a set of jobs; those that cannot be read are not compared.
func Strangers(live []roster.Replica, now time.Time, read func(hash string) (roster.JobSet, error)) [][]string {
	return presence.Strangers(live, now, read)
}

// ServedBy returns a live replica that may still serve one of the published versions of a
// job, "" if none does. A job may be forgotten only then.
func ServedBy(versions []roster.JobInfo, live []roster.Replica, now time.Time) string {
	return presence.ServedBy(versions, live, now)
}

// A Judge computes the entries of ticks that the ledger does not have, as far as anybody
// knows.
type Judge struct {
	of  presence.Background
	key string
}

// NewJudge returns a Judge for the published job and its known entries. Its Account must be
// that of the job; see Versions. It asks the ledger what it has dropped.
func NewJudge(ctx context.Context, v roster.Version, ledger ledger.Store, known []ledger.Entry, now time.Time) (Judge, error) {
	b := presence.Background{Account: v.Account, RememberedSince: presence.Remembered(ledger)}
	var err error
	if b.Trimmed, err = presence.TrimmedUpTo(ctx, ledger, v.StoredAs()); err != nil {
		return Judge{}, err
	}
	b.Absence = presence.Removal(v.Account, []roster.JobInfo{v.JobInfo}, now)
	for _, e := range known {
		if e.Stream == "" && presence.Attended(e) {
			b.Ticks = append(b.Ticks, e.Tick)
		}
	}
	return Judge{b, v.StoredAs()}, nil
}

// Removed is when the job was removed from the configuration; zero if it is served, or was
// served to the end.
func (j Judge) Removed() time.Time { return j.of.Absence.From }

// Remembered is since when the ledger remembers. Older entries may be lost.
func (j Judge) Remembered() time.Time { return j.of.RememberedSince }

// Absent reports whether the job was in no configuration when the tick came.
func (j Judge) Absent(tick time.Time) bool { return j.of.Absence.Has(tick) }

// Entry is what a listing shows of the tick.
func (j Judge) Entry(tick time.Time) ledger.Entry {
	return ledger.Entry{Job: j.key, Tick: tick, Trigger: ledger.BySchedule, Outcome: ledger.Missed, Reason: ledger.Reason{Code: j.of.Code(tick)}, Computed: true}
}

// BackfillSlots returns the names of the locks that backfills of the job may have used.
// They are deleted with the job.
func BackfillSlots(key string) []string { return job.BackfillSlots(key) }
