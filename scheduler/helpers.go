package scheduler

import (
	"time"

	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/internal/recorder"
)

// recorder returns the writer of ticks that do not run.
func (s *Scheduler) recorder() *recorder.Recorder {
	return recorder.New(recorder.Options{
		Replica: s.cfg.Replica, Ledger: s.cfg.Ledger, Archive: s.cfg.Archive, Roster: s.cfg.Roster, Observer: s.cfg.Observer,
		Settles: s.cfg.NotifySettled, Limit: s.cfg.RecordQueue, Now: s.cfg.Clock,
	})
}

func (s *Scheduler) forgetter() presence.Forgetter {
	return presence.Forgetter{
		Replica: s.cfg.Replica, Roster: s.cfg.Roster, Forget: s.cfg.Forget, After: s.cfg.ForgetAfter,
		Observer: s.cfg.Observer, Now: s.clock.wall, Serves: s.public.Serves,
	}
}

func (s *Scheduler) heartbeat() *presence.Heartbeat {
	started := s.clock.wall()
	return &presence.Heartbeat{
		Roster: s.cfg.Roster, Every: s.cfg.BeatEvery,
		Self:     func() Replica { return s.cfg.describe(s.query(false), s.public.Serving(), started) },
		Observer: s.cfg.Observer, Sets: s.cfg.JobSets, Own: s.public.Set, Now: s.clock.wall,
	}
}

// describe returns what the roster shows of this replica.
func (c Config) describe(s Snapshot, serving presence.Serving, started time.Time) Replica {
	running := make([]string, len(s.Running))
	for i, r := range s.Running {
		running[i] = r.Job
	}
	self := Replica{
		ID: c.Replica, Instance: c.Instance, Program: c.Program, Version: c.Version, Host: c.Host, PID: c.PID,
		Started: started, Seen: time.Now().Round(0), State: s.State,
		Running: running, Labels: c.Labels,
		ConfigHash: serving.Hash, ConfigSince: serving.Since, Jobs: &serving.Jobs, Won: &s.Won,
	}
	if c.ClockOffset != nil {
		if ahead, ok := c.ClockOffset(); ok {
			self.ClockOffset = &ahead
			if most := c.MaxClockOffset; self.State == StateReady && most >= 0 && ahead.Abs() > most {
				self.State = StateSkewed
			}
		}
	}
	return self
}
