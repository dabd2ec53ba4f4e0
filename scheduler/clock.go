package scheduler

import "time"

// Clocks read the wall clock, which schedules go by, and the monotonic one,
// which stands still while the machine is suspended and never jumps.
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

// jumpThreshold is what wall and monotonic clock may move apart between two
// looks before it counts as a jump. Slewing moves them by milliseconds.
const jumpThreshold = 2 * time.Second

// A drift watches the two clocks move apart.
type drift struct {
	clock clocks
	wall  time.Time
	mono  time.Duration
}

func newDrift(c clocks) *drift {
	return &drift{clock: c, wall: c.wall(), mono: c.mono()}
}

// look returns by how much the wall clock ran ahead of the monotonic clock
// since the last look: positive after a suspend or when the clock was set
// forward, and zero below the threshold.
func (d *drift) look() time.Duration {
	wall, mono := d.clock.wall(), d.clock.mono()
	apart := wall.Sub(d.wall) - (mono - d.mono)
	d.wall, d.mono = wall, mono
	if apart.Abs() < jumpThreshold {
		return 0
	}
	return apart
}
