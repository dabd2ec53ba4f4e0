package scheduler

import "slices"

// A Version is what listings show of a job: what replicas serve now or, if none
// does, what one served last.
type Version struct {
	JobInfo
	Live bool // a replica serves it now
	// Drift: replicas that live serve different versions of the job.
	Drift bool
}

// Versions sorts out what is published: of each job the versions that replicas
// serve now, in the order of published, which is that of Roster.Jobs; if there
// are none, the last one. Where several live, each is marked as drifting. The Account of
// each is that of the job.
func Versions(published []JobInfo, live []Replica) []Version {
	of := byKey(published)
	shown := make(map[string][]Version, len(of))
	for key, all := range of {
		shown[key] = versionsOf(all, live)
		account := accountOf(all)
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

// versionsOf does it for one job. It is a hint, and may lag behind a change by
// some minutes: a version is served by the replicas whose set of jobs is the one
// that it was last published with.
func versionsOf(all []JobInfo, live []Replica) []Version {
	var list []Version
	last := all[0]
	for _, j := range all {
		if j.Published.After(last.Published) {
			last = j
		}
		if j.servedIn(live) >= 0 {
			list = append(list, Version{JobInfo: j, Live: true})
		}
	}
	if len(list) == 0 { // the sets have changed since
		return []Version{{JobInfo: last, Live: last.ServedBy(live, last.Published.Add(last.Age)) != ""}}
	}
	for i := range list {
		list[i].Drift = len(list) > 1
	}
	return list
}

// servedIn is the index of a live replica that says it serves the set of jobs that
// the version was last published with, -1 if there is none.
func (j JobInfo) servedIn(live []Replica) int {
	return slices.IndexFunc(live, func(r Replica) bool { return r.ConfigHash == j.ConfigHash && j.ConfigHash != "" })
}

// byKey sorts published versions by the name under which the nodes keep the job.
func byKey(published []JobInfo) map[string][]JobInfo {
	of := map[string][]JobInfo{}
	for _, j := range published {
		of[j.StoredAs()] = append(of[j.StoredAs()], j)
	}
	return of
}
