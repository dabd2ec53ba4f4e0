package pgcampaign_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/postgres/pgtest"
	"github.com/quorate/quorate/internal/truth"
)

// A promotions is a campaign on a primary and its standby, which change places.
type promotions struct {
	*campaign
	primary, standby *pgtest.Server
	synchronous      bool
}

// TestCampaignPromotions ends the primary and promotes its asynchronous standby, which may
// lack commits, again and again. No tick runs twice, and the ledger is true. While an old
// primary serves beside the new one, nothing is promised.
func TestCampaignPromotions(t *testing.T) {
	t.Parallel()
	promote(t, false, lasting(2, 50))
}

// TestCampaignSynchronous does so with a synchronous standby. No run is forgotten.
func TestCampaignSynchronous(t *testing.T) {
	t.Parallel()
	promote(t, true, lasting(1, 20), "synchronous_standby_names=*")
}

func promote(t *testing.T, synchronous bool, times int, settings ...string) {
	t.Helper()
	c := &promotions{campaign: newCampaign(t), primary: pgtest.Start(t, settings...), synchronous: synchronous}
	c.standby = c.primary.Standby(t)
	c.begin(pgtest.URLOf(c.primary, c.standby))
	from := time.Now().Add(time.Second)
	for n := range times {
		c.failover(n)
	}
	c.finish(from)
}

// failover lets ticks run, ends the primary, and promotes the standby. The old primary
// becomes the new standby.
func (c *promotions) failover(n int) {
	c.t.Helper()
	c.primary.AwaitStandby(c.t)
	wait(c.t, c.upTo(2*time.Second))
	ids := c.rand.Perm(len(replicaIDs))
	wake := c.replicas[replicaIDs[ids[0]]].sleep() // it has not seen what the others claim, and tries later
	gentle := n%4 == 3
	if !c.synchronous && !gentle {
		c.faults["standbys cut off"]++
		c.standby.CutOff(c.t)
		wait(c.t, 2*time.Second+c.upTo(time.Second/2))
	}
	silent := time.Now()
	kind := n % 3
	if kind == 0 {
		c.faults["primaries killed"]++
		c.primary.Kill(c.t)
	} else {
		c.primary.Freeze(c.t)
	}
	wait(c.t, c.upTo(time.Second))
	last := c.standby.Promote(c.t)
	c.promoted = true
	if !c.synchronous {
		c.lost = append(c.lost, truth.Span{From: last, To: silent})
	}
	c.thawed = append(c.thawed, time.Now())
	c.t.Logf("failover %d: commits of %v are lost", n, silent.Sub(last).Round(time.Millisecond))
	wake()
	if !gentle { // a new replica reads what was missed, and catches up
		c.faults["replicas killed"]++
		c.replicas[replicaIDs[ids[1]]].kill()
		c.start(replicaIDs[ids[1]])
	}
	switch kind {
	case 1:
		c.faults["primaries silent until they were killed"]++
		wait(c.t, c.upTo(3*time.Second))
		c.primary.Kill(c.t)
	case 2:
		c.faults["primaries back beside the new one"]++
		wait(c.t, c.upTo(3*time.Second))
		back := time.Now()
		c.primary.Thaw(c.t)
		wait(c.t, time.Second+c.upTo(2*time.Second))
		c.primary.Kill(c.t)
		c.apart = append(c.apart, truth.Span{From: back, To: time.Now()})
	}
	c.primary.Follow(c.t, c.standby)
	c.primary, c.standby = c.standby, c.primary
	c.awaitRun()
}

// awaitRun waits until a tick of now has run.
func (c *promotions) awaitRun() {
	c.t.Helper()
	from := time.Now()
	eventually(c.t, "ticks run again", func() bool {
		for _, e := range c.effects() {
			if e.At.After(from) {
				return true
			}
		}
		return false
	})
}
