package roster

import (
	"slices"
	"time"
)

// The ticks of a version begin when a replica first serves it. Earlier ticks that nobody
// ran follow the schedule that was served then.

// ServedSince is when replicas began to serve the version j, which one does from j.Since on.
// versions are those published of the job.
func ServedSince(j JobInfo, versions []JobInfo) time.Time {
	i := slices.IndexFunc(versions, func(v JobInfo) bool { return v.Hash == j.Hash })
	if i < 0 || versions[i].replaced(versions) || versions[i].Since.After(j.Since) {
		return j.Since
	}
	return versions[i].Since
}

// BeganToServe is ServedSince, or j.Since if the job was removed in between.
func BeganToServe(j JobInfo, versions []JobInfo) time.Time {
	if since := ServedSince(j, versions); since.After(AccountOf(versions).Removed) {
		return since
	}
	return j.Since
}

// replaced reports whether another version was served after this one: versions in use are
// published periodically. One that began later, and may have been in use when this one was last
// published, has replaced it too.
func (j JobInfo) replaced(versions []JobInfo) bool {
	return slices.ContainsFunc(versions, func(v JobInfo) bool {
		if v.Hash == j.Hash {
			return false
		}
		return v.Published.After(j.Published.Add(Settling)) || v.Since.After(j.Since) && v.Published.Add(PublishEvery).After(j.Published)
	})
}
