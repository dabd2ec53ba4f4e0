package scheduler

import (
	"slices"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
	"github.com/quorate/quorate/scheduler/internal/job"
)

// A lane decides the ticks of one stream of a job, one after the other.
type lane struct {
	stream   string
	claiming *ticket    // decides a tick; nil: none
	queue    []job.Tick // the ticks after it, in order
	scans    int        // scans for earlier ticks; none is claimed until they are over
	blocked  *blockade  // nil: no known run blocks the lane

	// For jobs whose ticks are rerun. See lookback.go.
	unsure      bool      // a tick was given up that another replica may run
	watchedUpTo time.Time // the last tick that was watched
}

// lane returns the job's lane of a stream.
func (j *jobState) lane(stream string) *lane {
	for _, l := range j.lanes {
		if l.stream == stream {
			return l
		}
	}
	l := &lane{stream: stream}
	j.lanes = append(j.lanes, l)
	return l
}

// open reports whether the next tick of the lane may be claimed.
func (j *jobState) open(l *lane) bool {
	return l.claiming == nil && l.scans == 0 && !j.mustYield(l)
}

// mustYield reports whether a lane must wait for the schedule's lane: a backfill would
// block scheduled ticks.
func (j *jobState) mustYield(l *lane) bool {
	return l.stream == acts.StreamBackfill && j.lane("").claiming != nil
}

// insert puts a tick into the queue, in the order of the stream.
func (l *lane) insert(t job.Tick) {
	i := len(l.queue)
	for i > 0 && t.At.Before(l.queue[i-1].At) {
		i--
	}
	l.queue = slices.Insert(l.queue, i, t)
}

// overtake tells the attempt for an earlier tick that t has come.
func (l *lane) overtake(t job.Tick) {
	if a := l.claiming; a != nil && !a.passed && a.Tick.At.Before(t.At) {
		a.passed = true
		a.Overtake()
	}
}
