package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/job"
)

// ChainID, Jitter and Rank are those of package job.
var (
	ChainID = job.ChainID
	Jitter  = job.Jitter
	Rank    = job.Rank
)

// Suspend makes the wall clock of s run ahead by ahead(), as after a suspend of the machine
// or a step of its clock. Call it before Run.
func (s *Scheduler) Suspend(ahead func() time.Duration) {
	wall := s.clock.wall
	s.clock.wall = func() time.Time { return wall().Add(ahead()) }
}

// MaxOverslept is how many overslept ticks are recorded one by one.
const MaxOverslept = maxOverslept

// Beat queries the loop as a heartbeat does.
func (s *Scheduler) Beat() Snapshot { return s.query(false) }
