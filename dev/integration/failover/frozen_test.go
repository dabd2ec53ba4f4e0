package failover_test

import (
	"syscall"
	"testing"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
)

// TestCampaignFrozen freezes a replica between Finish and COMMIT for longer than its lease. As
// long as the transaction is open, no other replica runs the job. When it continues or dies,
// the tick gets its effect once, and later ticks run.
func TestCampaignFrozen(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"continues": syscall.SIGCONT, "dies": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFinishing(t, 1, "@every 2s", transferParams{Freezes: true})
			const open = "pg_stat_activity WHERE state = 'idle in transaction' AND query LIKE '%finish_run%'"
			c.Eventually("a run is frozen", func() bool { return c.count(open) == 1 })
			c.calm()
			before, done := c.count("campaign.runs"), c.count("effects") // one may have ended before
			c.Wait(2 * campaigntest.TTL)
			if runs, effects, frozen := c.count("campaign.runs"), c.count("effects"), c.count(open); runs != before || effects != done || frozen != 1 {
				t.Errorf("behind the open transaction there are %d runs and %d effects, %d and %d before, and %d transactions are open", runs, effects, before, done, frozen)
			}
			c.wakes(signal)
			c.Eventually("ticks have their effect", func() bool { return c.count("effects") > done+1 })
			c.stops()
			c.checkEffects()
		})
	}
}

// wakes sends the signal to the replica that has run last.
func (c *finishing) wakes(signal syscall.Signal) {
	c.Helper()
	var id string
	if err := c.conn.QueryRow(c.Context(), "SELECT replica FROM campaign.runs ORDER BY token DESC LIMIT 1").Scan(&id); err != nil {
		c.Fatal(err)
	}
	c.Replicas[id].Signal(signal)
	if signal == syscall.SIGKILL {
		<-c.Replicas[id].Exited
		c.Start(id)
	}
}
