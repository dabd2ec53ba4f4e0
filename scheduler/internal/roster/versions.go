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

// Versions returns, for each job, the published versions that replicas serve now, or the
// last one if there are none. They keep the order of published, which is that of
// Roster.Jobs. Several live versions are marked as drift. The Account of each is that of
// the job.
func Versions(published []JobInfo, live []Replica) []Version {
	of := ByKey(published)
	shown := make(map[string][]Version, len(of))
	for key, all := range of {
		shown[key] = versionsOf(all, live)
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

// versionsOf does so for one job. It is a hint that may lag by some minutes: live replicas
// serve a version if it was last published with their current set of jobs.
func versionsOf(all []JobInfo, live []Replica) []Version {
	var list []Version
	last := all[0]
	for _, j := range all {
		if j.Published.After(last.Published) {
			last = j
		}
		if servedIn(j, live) >= 0 {
			list = append(list, Version{JobInfo: j, Live: true})
		}
	}
	if len(list) == 0 { // the sets have changed since
		return []Version{{JobInfo: last, Live: servedBy(last, live, last.Published.Add(last.Age)) != ""}}
	}
	for i := range list {
		list[i].Drift = len(list) > 1
	}
	return list
}

// servedIn is the index of a live replica with the set of jobs that the version was last
// published with, -1 if there is none.
func servedIn(j JobInfo, live []Replica) int {
	return slices.IndexFunc(live, func(r Replica) bool { return r.ConfigHash == j.ConfigHash && j.ConfigHash != "" })
}

// ByKey groups published versions by the name under which the nodes store the job's data.
func ByKey(published []JobInfo) map[string][]JobInfo {
	of := map[string][]JobInfo{}
	for _, j := range published {
		of[j.StoredAs()] = append(of[j.StoredAs()], j)
	}
	return of
}
