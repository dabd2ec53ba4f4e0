package presence

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A posted job is one that this replica serves, and since when. It is encoded when it is
// published.
type posted struct {
	*job.Job
	since int64 // Unix milliseconds; 0: unknown
}

// info is the published form of a job that the replica serves.
func (j posted) info(replica string) roster.JobInfo {
	return roster.JobInfo{
		Name: j.Name, Key: j.RenamedFrom(), Hash: j.Hash, Func: j.Func, Schedule: j.Spec, Timezone: j.Timezone,
		Description: j.Description, Tags: j.Tags, Paused: j.Paused, Definition: definition(j.Schedule), Jitter: j.Jitter, Params: j.PublishedParams(),
		Replica: replica, Since: fromUnixMillis(j.since),
	}
}

// definition is the published form of the job's schedule.
func definition(s schedule.Schedule) string {
	text, err := schedule.Definition(s)
	if err != nil || len(text) > roster.MaxDefinition {
		return ""
	}
	return text
}

// unixMillis is the compact form of a time; 0 if it is zero.
func unixMillis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromUnixMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
