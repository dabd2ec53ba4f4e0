package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/schedule"
)

// The ticks of a version begin when a replica first serves it. Earlier ticks that nobody
// ran follow the schedule that was served then.

// servedSince is when replicas began to serve the version, which one does from j.Since on.
// versions are those published of the job.
func (j JobInfo) servedSince(versions []JobInfo) time.Time {
	i := slices.IndexFunc(versions, func(v JobInfo) bool { return v.Hash == j.Hash })
	if i < 0 || versions[i].replaced(versions) || versions[i].Since.After(j.Since) {
		return j.Since
	}
	return versions[i].Since
}

// beganToServe is servedSince, or j.Since if the job was removed in between.
func (j JobInfo) beganToServe(versions []JobInfo) time.Time {
	if since := j.servedSince(versions); since.After(accountOf(versions).Removed) {
		return since
	}
	return j.Since
}

// replaced reports whether another version was served after this one: versions in use are
// published periodically.
func (j JobInfo) replaced(versions []JobInfo) bool {
	return slices.ContainsFunc(versions, func(v JobInfo) bool {
		return v.Hash != j.Hash && v.Published.After(j.Published.Add(settling))
	})
}

// schedule is the schedule of the ticks before a replica serves the job.
func (p past) schedule(versions []JobInfo) schedule.Schedule {
	since := JobInfo{Hash: p.job.Hash, Since: p.begun}.servedSince(versions)
	var last JobInfo // the version before this one
	for _, v := range versions {
		if v.Hash != p.job.Hash && v.Since.Before(since) && v.Published.After(last.Published) {
			last = v
		}
	}
	if since.IsZero() || last.Published.IsZero() {
		return p.job.Schedule
	}
	before, err := last.Ticks()
	if err != nil {
		return p.job.Schedule // the old schedule is unknown
	}
	return handover{before: before, after: p.job.Schedule, at: since}
}

// A handover is one schedule until an instant, and another one from then on.
type handover struct {
	before, after schedule.Schedule
	at            time.Time
}

// Next implements Schedule.
func (h handover) Next(t time.Time) time.Time {
	if next := h.before.Next(t); !next.IsZero() && next.Before(h.at) {
		return next
	}
	if t.Before(h.at) {
		t = h.at.Add(-1)
	}
	return h.after.Next(t)
}
