// Package served has what follows from what replicas have published: which versions of a job
// they serve, which of them serve other jobs under the same names, and what is known of ticks
// that the ledger does not have.
package served

import (
	"errors"
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/roster"
)

// sets are the jobs of sets, by Replica.ConfigHash: the name and hash of each by its key. A set that
// is not among them is not known.
type sets map[string]map[string]string

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. They keep the order of published, which is that of
// Roster.Jobs. Several live versions are marked as drift. The Account of each is that of
// the job. It calls read for each set of a live replica that the published versions alone do
// not tell.
func Versions(published []roster.JobInfo, live []roster.Replica, read func(hash string) (roster.JobSet, error)) ([]roster.Version, error) {
	hashes, sets := toRead(published, live)
	for _, hash := range hashes {
		switch set, err := read(hash); {
		case err == nil:
			sets.add(hash, set)
		case !errors.Is(err, roster.ErrNoJobSet): // it is not stored yet, or was too large
			return nil, err
		}
	}
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
	return list, nil
}

// versionsOf does so for one job. Where the set of a replica is not known, that is a hint that
// may lag by some minutes: it serves a version if that was last published with its set.
func versionsOf(all []roster.JobInfo, live []roster.Replica, sets sets) []roster.Version {
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
func (s sets) servedIn(j roster.JobInfo, live []roster.Replica) int {
	return slices.IndexFunc(live, func(r roster.Replica) bool {
		if set := s[r.ConfigHash]; set != nil {
			return set[j.StoredAs()] == version(j)
		}
		return r.ConfigHash == j.ConfigHash && j.ConfigHash != ""
	})
}

func version(j roster.JobInfo) string { return j.Name + " " + j.Hash }

// toRead returns the hashes of the sets of live replicas that have to be read, since the published
// versions alone do not tell which jobs they have. The others are in sets.
func toRead(published []roster.JobInfo, live []roster.Replica) (read []string, sets sets) {
	sets = map[string]map[string]string{}
	for _, j := range published {
		if sets[j.ConfigHash] == nil {
			sets[j.ConfigHash] = map[string]string{}
		}
		sets[j.ConfigHash][j.StoredAs()] = version(j)
	}
	complete := map[string]map[string]string{}
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

// add adds a set that was read, unless it was too large to be stored.
func (s sets) add(hash string, set roster.JobSet) {
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

// By returns a live replica that may still serve one of the published versions of a
// job, "" if none does. A job may be forgotten only then.
func By(versions []roster.JobInfo, live []roster.Replica, now time.Time) string {
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
	if i := sets(nil).servedIn(j, live); i >= 0 {
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
