package roster

import "slices"

// A Version is one version of a job in listings: one that replicas serve now or, if there
// is none, the last one.
type Version struct {
	JobInfo
	Live bool // a replica serves it now
	// Drift: live replicas serve different versions of the job.
	Drift bool
}

// Sets are the jobs of sets, by Replica.ConfigHash: the name and hash of each by its key. A set that
// is not among them is not known.
type Sets map[string]map[string]string

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. They keep the order of published, which is that of
// Roster.Jobs. Several live versions are marked as drift. The Account of each is that of
// the job.
func Versions(published []JobInfo, live []Replica, sets Sets) []Version {
	of := ByKey(published)
	shown := make(map[string][]Version, len(of))
	for key, all := range of {
		shown[key] = versionsOf(all, live, sets)
		account := AccountOf(all)
		for i := range shown[key] {
			shown[key][i].Account = account
		}
	}
	var list []Version
	for _, j := range published {
		i := slices.IndexFunc(shown[j.StoredAs()], func(v Version) bool { return v.Name == j.Name && v.Hash == j.Hash })
		if i >= 0 {
			list = append(list, shown[j.StoredAs()][i])
		}
	}
	return list
}

// versionsOf does so for one job. Where the set of a replica is not known, that is a hint that
// may lag by some minutes: it serves a version if that was last published with its set.
func versionsOf(all []JobInfo, live []Replica, sets Sets) []Version {
	var list []Version
	last := all[0]
	for _, j := range all {
		if j.Published.After(last.Published) {
			last = j
		}
		if sets.servedIn(j, live) >= 0 {
			list = append(list, Version{JobInfo: j, Live: true})
		}
	}
	if len(list) == 0 { // nobody serves it, or the sets have changed since
		unknown := slices.DeleteFunc(slices.Clone(live), func(r Replica) bool { return sets[r.ConfigHash] != nil })
		return []Version{{JobInfo: last, Live: servedBy(last, unknown, last.Published.Add(last.Age)) != ""}}
	}
	for i := range list {
		list[i].Drift = len(list) > 1
	}
	return list
}

// servedIn is the index of a live replica that serves the version, -1 if there is none.
func (s Sets) servedIn(j JobInfo, live []Replica) int {
	return slices.IndexFunc(live, func(r Replica) bool {
		if set := s[r.ConfigHash]; set != nil {
			return set[j.StoredAs()] == j.version()
		}
		return r.ConfigHash == j.ConfigHash && j.ConfigHash != ""
	})
}

func (j JobInfo) version() string { return j.Name + " " + j.Hash }

// ToRead returns the hashes of the sets of live replicas that have to be read, since the published
// versions alone do not tell which jobs they have. The others are in sets.
func ToRead(published []JobInfo, live []Replica) (read []string, sets Sets) {
	sets = Sets{}
	for _, j := range published {
		if sets[j.ConfigHash] == nil {
			sets[j.ConfigHash] = map[string]string{}
		}
		sets[j.ConfigHash][j.StoredAs()] = j.version()
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
func (s Sets) Add(hash string, set JobSet) {
	if len(set.Jobs) != set.Count {
		return
	}
	s[hash] = make(map[string]string, len(set.Jobs))
	for _, j := range set.Jobs {
		s[hash][j.Key] = j.Name + " " + j.Hash
	}
}

// ByKey groups published versions by the name under which the nodes store the job's data.
func ByKey(published []JobInfo) map[string][]JobInfo {
	of := map[string][]JobInfo{}
	for _, j := range published {
		of[j.StoredAs()] = append(of[j.StoredAs()], j)
	}
	return of
}
