package presence

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Sets are the jobs of sets, by Replica.ConfigHash: the name and hash of each by its key. A set that
// is not among them is not known.
type Sets map[string]map[string]string

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. They keep the order of published, which is that of
// Roster.Jobs. Several live versions are marked as drift. The Account of each is that of
// the job.
func Versions(published []roster.JobInfo, live []roster.Replica, sets Sets) []roster.Version {
	of := ByKey(published)
	shown := make(map[string][]roster.Version, len(of))
	for key, all := range of {
		shown[key] = versionsOf(all, live, sets)
		account := AccountOf(all)
		for i := range shown[key] {
			shown[key][i].Account = account
		}
	}
	var list []roster.Version
	for _, j := range published {
		i := slices.IndexFunc(shown[j.StoredAs()], func(v roster.Version) bool { return v.Name == j.Name && v.Hash == j.Hash })
		if i >= 0 {
			list = append(list, shown[j.StoredAs()][i])
		}
	}
	return list
}

// versionsOf does so for one job. Where the set of a replica is not known, that is a hint that
// may lag by some minutes: it serves a version if that was last published with its set.
func versionsOf(all []roster.JobInfo, live []roster.Replica, sets Sets) []roster.Version {
	var list []roster.Version
	last := all[0]
	for _, j := range all {
		if j.Published.After(last.Published) {
			last = j
		}
		if sets.servedIn(j, live) >= 0 {
			list = append(list, roster.Version{JobInfo: j, Live: true})
		}
	}
	if len(list) == 0 { // nobody serves it, or the sets have changed since
		unknown := slices.DeleteFunc(slices.Clone(live), func(r roster.Replica) bool { return sets[r.ConfigHash] != nil })
		return []roster.Version{{JobInfo: last, Live: servedBy(last, unknown, last.Published.Add(last.Age)) != ""}}
	}
	for i := range list {
		list[i].Drift = len(list) > 1
	}
	return list
}

// servedIn is the index of a live replica that serves the version, -1 if there is none.
func (s Sets) servedIn(j roster.JobInfo, live []roster.Replica) int {
	return slices.IndexFunc(live, func(r roster.Replica) bool {
		if set := s[r.ConfigHash]; set != nil {
			return set[j.StoredAs()] == version(j)
		}
		return r.ConfigHash == j.ConfigHash && j.ConfigHash != ""
	})
}

func version(j roster.JobInfo) string { return j.Name + " " + j.Hash }

// ToRead returns the hashes of the sets of live replicas that have to be read, since the published
// versions alone do not tell which jobs they have. The others are in sets.
func ToRead(published []roster.JobInfo, live []roster.Replica) (read []string, sets Sets) {
	sets = Sets{}
	for _, j := range published {
		if sets[j.ConfigHash] == nil {
			sets[j.ConfigHash] = map[string]string{}
		}
		sets[j.ConfigHash][j.StoredAs()] = version(j)
	}
	complete := Sets{}
	for _, r := range live {
		switch _, known := complete[r.ConfigHash]; {
		case known, slices.Contains(read, r.ConfigHash):
		case r.Jobs != nil && *r.Jobs > 0 && *r.Jobs == len(sets[r.ConfigHash]):
			complete[r.ConfigHash] = sets[r.ConfigHash]
		default:
			read = append(read, r.ConfigHash)
		}
	}
	return read, complete
}

// Add adds a set that was read, unless it was too large to be stored.
func (s Sets) Add(hash string, set roster.JobSet) {
	if len(set.Jobs) != set.Count {
		return
	}
	s[hash] = make(map[string]string, len(set.Jobs))
	for _, j := range set.Jobs {
		s[hash][j.Key] = j.Name + " " + j.Hash
	}
}

// ByKey groups published versions by the name under which the nodes store the job's data.
func ByKey(published []roster.JobInfo) map[string][]roster.JobInfo {
	of := map[string][]roster.JobInfo{}
	for _, j := range published {
		of[j.StoredAs()] = append(of[j.StoredAs()], j)
	}
	return of
}

// ServedBy returns a live replica that may still serve one of the published versions of a
// job, "" if none does. A job may be forgotten only then.
func ServedBy(versions []roster.JobInfo, live []roster.Replica, now time.Time) string {
	for _, j := range versions {
		if by := servedBy(j, live, now); by != "" {
			return by
		}
	}
	return ""
}

// servedBy returns a live replica that may still serve the published job, "" if none does.
// Replicas publish their jobs at their start and periodically, and say which set of jobs
// they serve.
func servedBy(j roster.JobInfo, live []roster.Replica, now time.Time) string {
	if i := Sets(nil).servedIn(j, live); i >= 0 {
		return live[i].ID
	}
	if now.Sub(j.Published) > Settling {
		return ""
	}
	var by string
	for _, r := range live {
		switch {
		case r.Started.After(j.Published): // it started later, and has not published it
		case r.ID == j.Replica:
			return r.ID
		default:
			by = r.ID
		}
	}
	return by
}

const (
	// PublishEvery is the time after which a replica publishes all its jobs again.
	PublishEvery = 5 * time.Minute
	// Settling is how long a replica may take to publish its jobs after its start or after
	// a change.
	Settling = 2 * PublishEvery
)

// The ticks of a version begin when a replica first serves it. Earlier ticks that nobody
// ran follow the schedule that was served then.

// ServedSince is when replicas began to serve the version j, which one does from j.Since on.
// versions are those published of the job.
func ServedSince(j roster.JobInfo, versions []roster.JobInfo) time.Time {
	i := slices.IndexFunc(versions, func(v roster.JobInfo) bool { return v.Hash == j.Hash })
	if i < 0 || replaced(versions[i], versions) || versions[i].Since.After(j.Since) {
		return j.Since
	}
	return versions[i].Since
}

// BeganToServe is ServedSince, or j.Since if the job was removed in between.
func BeganToServe(j roster.JobInfo, versions []roster.JobInfo) time.Time {
	if since := ServedSince(j, versions); since.After(AccountOf(versions).Removed) {
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

// An absence is a time span in which no replica served a job, both ends excluded.
type absence struct{ From, To time.Time }

// Has reports whether the tick falls into the absence.
func (a absence) Has(tick time.Time) bool { return tick.After(a.From) && tick.Before(a.To) }

// Removal is the time in which the job was removed and not yet added again, seen by a
// replica that serves it since begun. It is zero if there was none, or if later ticks are
// accounted for.
func Removal(a roster.Account, versions []roster.JobInfo, begun time.Time) absence {
	if a.Removed.IsZero() || a.Removed.Before(a.Until) {
		return absence{}
	}
	back := begun
	for _, v := range versions {
		switch again := v.Since.After(a.Removed); {
		case again && v.Since.Before(back):
			back = v.Since
		case !again && v.Published.After(a.Removed):
			return absence{} // another replica served it all the while
		}
	}
	return absence{a.Removed, back}
}

// Accounts are the accounts of the jobs on one replica. They need not be exact: a replica
// that reads the past looks further back if they lag.
type Accounts struct {
	First  time.Time            // when the replica first could run ticks; zero: it never could
	Until  map[string]time.Time // by key; without jobs whose past it does not know
	Behind bool                 // there are such jobs that it may run
}

// A Background is what is known of a past besides the ledger's entries.
type Background struct {
	Why             ledger.Code    // of all its ticks; empty: it differs
	Account         roster.Account // zero if the replica was there, asleep
	Absence         absence        // of the job from every configuration
	RememberedSince time.Time
	Trimmed         time.Time   // entries of ticks up to it may have been dropped
	Ticks           []time.Time // at which a replica served the job, newest first
}

// Passing reports whether a call of a store may succeed soon: it was not answered, or the
// store refuses, which may be corrected at any time.
func Passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, locking.ErrRefused) || errors.Is(err, context.DeadlineExceeded)
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
