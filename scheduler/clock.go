package scheduler

import "time"

// clocks read the wall clock, which schedules use, and the monotonic clock, which stops
// while the machine is suspended and never jumps.
type clocks struct {
	wall func() time.Time
	mono func() time.Duration
}

// systemClock is the wall clock of the machine, in UTC: schedules of robfig/cron
// tick in the zone of the time that they are given.
func systemClock() time.Time { return time.Now().UTC().Round(0) }

func newClocks(wall func() time.Time) clocks {
	start := time.Now()
	return clocks{wall: wall, mono: func() time.Duration { return time.Since(start) }}
}

// jumpThreshold is how far wall and monotonic clock may move apart between two readings
// before it counts as a jump. Slewing moves them by milliseconds.
const jumpThreshold = 2 * time.Second

// A drift detects that the two clocks move apart.
type drift struct {
	clock clocks
	wall  time.Time
	mono  time.Duration
}

func newDrift(c clocks) *drift {
	return &drift{clock: c, wall: c.wall(), mono: c.mono()}
}

// jump returns by how much the wall clock ran ahead of the monotonic clock since the last
// call: positive after a suspend or when the clock was set forward, and zero below the
// threshold.
func (d *drift) jump() time.Duration {
	wall, mono := d.clock.wall(), d.clock.mono()
	apart := wall.Sub(d.wall) - (mono - d.mono)
	d.wall, d.mono = wall, mono
	if apart.Abs() < jumpThreshold {
		return 0
	}
	return apart
}
