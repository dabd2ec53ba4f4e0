package scheduler

import (
	"testing"
	"time"

	"github.com/quorate/quorate/scheduler/internal/presence"
	"github.com/quorate/quorate/scheduler/roster"
)

func TestReplicaDescribesItself(t *testing.T) {
	t.Parallel()
	c := validConfig()
	c.ClockOffset = func() (time.Duration, bool) { return time.Second, true }
	serving := presence.Serving{Hash: "c1", Since: time.Unix(99, 0), Jobs: 3}
	self := c.describe(Snapshot{Won: 7}, serving, time.Now())
	if self.ConfigHash != "c1" || !self.ConfigSince.Equal(time.Unix(99, 0)) || *self.Jobs != 3 || *self.Won != 7 || *self.ClockOffset != time.Second {
		t.Errorf("it says of itself %+v", self)
	}
	for ahead, want := range map[time.Duration]string{
		500 * time.Millisecond: roster.StateReady, 501 * time.Millisecond: roster.StateSkewed, -time.Hour: roster.StateSkewed,
	} {
		c.ClockOffset = func() (time.Duration, bool) { return ahead, true }
		if self := c.describe(Snapshot{State: roster.StateReady}, serving, time.Now()); self.State != want {
			t.Errorf("%v ahead it says that it is %s, want %s", ahead, self.State, want)
		}
		if self := c.describe(Snapshot{State: roster.StateDraining}, serving, time.Now()); self.State != roster.StateDraining {
			t.Errorf("%v ahead and draining it says that it is %s", ahead, self.State)
		}
	}
	c.ClockOffset = func() (time.Duration, bool) { return 0, false }
	if self := c.describe(Snapshot{}, serving, time.Now()); self.ClockOffset != nil {
		t.Errorf("a clock that nobody knows is %v ahead", *self.ClockOffset)
	}
}
