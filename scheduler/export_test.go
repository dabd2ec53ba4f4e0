package scheduler

import "time"

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
