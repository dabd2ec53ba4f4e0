package served

import (
	"context"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// The ticks of a version begin when a replica first serves it. Earlier ticks that nobody
// ran follow the schedule that was served then.

// Since is when replicas began to serve the version j, which one does from j.Since on.
// versions are those published of the job.
func Since(j roster.JobInfo, versions []roster.JobInfo) time.Time {
	i := slices.IndexFunc(versions, func(v roster.JobInfo) bool { return v.Hash == j.Hash })
	if i < 0 || replaced(versions[i], versions) || versions[i].Since.After(j.Since) {
		return j.Since
	}
	return versions[i].Since
}

// BeganToServe is Since, or j.Since if the job was removed in between.
func BeganToServe(j roster.JobInfo, versions []roster.JobInfo) time.Time {
	if since := Since(j, versions); since.After(AccountOf(versions).Removed) {
		return since
	}
	return j.Since
}

// replaced reports whether another version was served after this one: versions in use are
// published periodically. One that began later, and may have been in use when this one was last
// published, has replaced it too.
func replaced(j roster.JobInfo, versions []roster.JobInfo) bool {
	return slices.ContainsFunc(versions, func(v roster.JobInfo) bool {
		if v.Hash == j.Hash {
			return false
		}
		return v.Published.After(j.Published.Add(Settling)) || v.Since.After(j.Since) && v.Published.Add(PublishEvery).After(j.Published)
	})
}

// Begin is the time from which ticks may lack an entry; zero: unknown.
func Begin(a roster.Account) time.Time {
	if a.First.IsZero() || a.Until.After(a.First) {
		return a.Until
	}
	return a.First.Add(1) // a tick at that instant came too early
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// AccountOf merges the accounts of a job's published versions.
func AccountOf(versions []roster.JobInfo) roster.Account {
	var a roster.Account
	for _, v := range versions {
		a = a.Merge(v.Account)
	}
	return a
}

// An Absence is a time span in which no replica served a job, both ends excluded.
type Absence struct{ From, To time.Time }

// Has reports whether the tick falls into the absence.
func (a Absence) Has(tick time.Time) bool { return tick.After(a.From) && tick.Before(a.To) }

// Removal is the time in which the job was removed and not yet added again, seen by a
// replica that serves it since begun. It is zero if there was none, or if later ticks are
// accounted for.
func Removal(a roster.Account, versions []roster.JobInfo, begun time.Time) Absence {
	if a.Removed.IsZero() || a.Removed.Before(a.Until) {
		return Absence{}
	}
	back := begun
	for _, v := range versions {
		switch again := v.Since.After(a.Removed); {
		case again && v.Since.Before(back):
			back = v.Since
		case !again && v.Published.After(a.Removed):
			return Absence{} // another replica served it all the while
		}
	}
	return Absence{a.Removed, back}
}

// A Background is what is known of a past besides the ledger's entries.
type Background struct {
	Why             ledger.Code    // of all its ticks; empty: it differs
	Account         roster.Account // zero if the replica was there, asleep
	Absence         Absence        // of the job from every configuration
	RememberedSince time.Time
	Trimmed         time.Time   // entries of ticks up to it may have been dropped
	Ticks           []time.Time // at which a replica served the job, newest first
}

// BackgroundOf returns what is known of a published job with these entries. Its Account must be
// that of the job; see Versions. It asks the ledger what it has dropped.
func BackgroundOf(ctx context.Context, v roster.Version, store ledger.Store, known []ledger.Entry, now time.Time) (Background, error) {
	b := Background{Account: v.Account, RememberedSince: Remembered(store)}
	var err error
	if b.Trimmed, err = TrimmedUpTo(ctx, store, v.StoredAs()); err != nil {
		return Background{}, err
	}
	b.Absence = Removal(v.Account, []roster.JobInfo{v.JobInfo}, now)
	for _, e := range known {
		if e.Stream == "" && Attended(e) {
			b.Ticks = append(b.Ticks, e.Tick)
		}
	}
	return b, nil
}

// Remembered is since when the ledger remembers; zero: always, or unknown.
func Remembered(store ledger.Store) time.Time {
	if r, ok := store.(ledger.Rememberer); ok {
		since, _ := r.RemembersSince()
		return since
	}
	return time.Time{}
}

// TrimmedUpTo is the latest tick whose entry the ledger has dropped; zero: none, or
// unknown.
func TrimmedUpTo(ctx context.Context, store ledger.Store, key string) (time.Time, error) {
	s, ok := store.(ledger.Skimmer)
	if !ok {
		return time.Time{}, nil
	}
	some, err := s.Skim(ctx, []ledger.Stretch{{Job: key}}, true)
	if err != nil || len(some) == 0 {
		return time.Time{}, err
	}
	return some[0].Trimmed, nil
}

// Lost reports whether the ledger may have lost the entry of the tick.
func (b Background) Lost(at time.Time) bool { return at.Before(b.RememberedSince) }

// Code says why nobody ran a tick that has no entry.
func (b Background) Code(at time.Time) ledger.Code {
	switch {
	case !at.After(b.Trimmed):
		return ledger.CodeHistoryTrimmed
	case b.Lost(at):
		return ledger.CodeHistoryLost
	case b.Why != "":
		return b.Why
	case b.stopped(at):
		return ledger.CodeNoReplica
	}
	return ledger.CodeUnknown
}

// stopped reports whether all replicas had stopped when the tick came, and none had started
// again.
func (b Background) stopped(at time.Time) bool {
	stop := b.Account.Stopped
	if stop.IsZero() || stop.Before(b.Account.Until) || at.Before(stop) {
		return false
	}
	for _, known := range b.Ticks {
		if known.After(stop) && known.Before(at) {
			return false // a replica had started again
		}
	}
	return true
}

// Attended reports whether the entry shows that a replica served the job when the tick came.
func Attended(e ledger.Entry) bool {
	return e.Trigger != ledger.ByCatchUp && !e.Reason.Has(ledger.CodeNoReplica) && !e.Reason.Has(ledger.CodeUnknown) && !e.Reason.Has(ledger.CodeHistoryLost)
}

// AlsoSince is the reason of a tick whose entry represents all ticks since first, too.
func AlsoSince(why ledger.Code, first time.Time) ledger.Reason {
	return ledger.Reason{Code: why}.And(ledger.Reason{Code: ledger.CodeAlike, Details: &ledger.Details{Since: first}})
}
