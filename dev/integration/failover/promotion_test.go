package failover_test

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/pgtest"
)

// A promotions is a campaign on a primary and its standby, which change places.
type promotions struct {
	*campaigntest.Campaign
	primary, standby *pgtest.Server
	synchronous      bool
	alone            time.Time // when the synchronous standby was killed
}

// TestCampaignPromotions ends the primary and promotes its asynchronous standby, which may
// lack commits, again and again. No tick runs twice, and the ledger is true. While an old
// primary serves beside the new one, nothing is promised.
func TestCampaignPromotions(t *testing.T) {
	t.Parallel()
	promote(t, false, length.Of(2, 36))
}

// TestCampaignSynchronous does so with a synchronous standby. No run is forgotten.
func TestCampaignSynchronous(t *testing.T) {
	t.Parallel()
	promote(t, true, length.Of(1, 20), "synchronous_standby_names=*")
}

func promote(t *testing.T, synchronous bool, times int, settings ...string) {
	t.Helper()
	c := &promotions{Campaign: campaigntest.New(t), primary: pgtest.Start(t, settings...), synchronous: synchronous}
	c.standby = c.primary.Standby(t)
	onPostgres(c.Campaign, pgtest.URLOf(c.primary, c.standby), c.Commands())
	c.Begin()
	for n := range times {
		c.failover(n)
		if n == times/2 {
			c.CheckReads()
		}
	}
	c.Finish()
}

// silence ends the primary or freezes it, and returns since when it is silent. The standby lacks its last commits, unless
// it is gentle or the standby is synchronous.
func (c *promotions) silence(kind int, gentle bool) (silent time.Time) {
	c.Helper()
	switch {
	case c.synchronous:
		c.killStandby()
		defer c.revive()
	case !gentle:
		c.Note("standbys cut off")
		c.standby.CutOff(c.T)
		c.Wait(2*time.Second + c.UpTo(time.Second/2))
	}
	silent = time.Now()
	if kind == 0 {
		c.Note("primaries killed")
		c.primary.Kill(c.T)
	} else {
		c.primary.Freeze(c.T)
	}
	return silent
}

// killStandby ends a synchronous standby just before ticks are due, and returns before calls are given up. Until then the
// primary must acknowledge no commit.
func (c *promotions) killStandby() {
	c.Helper()
	c.Note("standbys killed before their primaries")
	const early = 50 * time.Millisecond
	c.Wait(time.Until(time.Now().Truncate(time.Second).Add(2*time.Second - early)))
	c.alone = time.Now()
	c.standby.Kill(c.T)
	c.Wait(time.Until(c.alone.Add(campaigntest.Timeout - early)))
}

// revive starts the synchronous standby again, now that the primary is silent. If that took long, as on a busy machine,
// callers have given up, and others have seen commits that the standby lacks: TestSilentSynchronousStandby.
func (c *promotions) revive() {
	c.Helper()
	if now := time.Now(); now.Sub(c.alone) >= campaigntest.Timeout {
		c.Logf("the primary was alone for %v: commits of that time may be lost", now.Sub(c.alone).Round(time.Millisecond))
		c.Facts.Lost = append(c.Facts.Lost, checker.Span{From: c.alone, To: now})
	}
	c.standby.Restart(c.T)
}

// failover lets ticks run, ends the primary, and promotes the standby. The old primary
// becomes the new standby.
func (c *promotions) failover(n int) {
	c.Helper()
	c.primary.AwaitStandby(c.T)
	c.Wait(c.UpTo(2 * time.Second))
	ids := campaigntest.IDs()
	c.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	wake := c.Replicas[ids[0]].Freeze() // it has not seen what the others claim, and tries later
	gentle, kind := n%4 == 3, n%3
	silent := c.silence(kind, gentle)
	c.Wait(c.UpTo(time.Second))
	last := c.standby.Promote(c.T)
	c.Facts.Promoted = true
	if !c.synchronous {
		c.Facts.Lost = append(c.Facts.Lost, checker.Span{From: last, To: silent})
	}
	c.Healed()
	c.Logf("failover %d: commits of %v are lost", n, silent.Sub(last).Round(time.Millisecond))
	wake()
	if !gentle { // a new replica reads what was missed, and catches up
		c.Note("replicas killed")
		c.Replicas[ids[1]].Kill()
		c.Start(ids[1])
	}
	switch kind {
	case 1:
		c.Note("primaries silent until they were killed")
		c.Wait(c.UpTo(3 * time.Second))
		c.primary.Kill(c.T)
	case 2:
		c.Note("primaries back beside the new one")
		c.Wait(c.UpTo(3 * time.Second))
		back := time.Now()
		c.primary.Thaw(c.T)
		c.Wait(time.Second + c.UpTo(2*time.Second))
		c.primary.Kill(c.T)
		c.Apart = append(c.Apart, checker.Span{From: back, To: time.Now()})
	}
	c.primary.Follow(c.T, c.standby)
	c.primary, c.standby = c.standby, c.primary
	c.AwaitRun()
}
