package cmd

import (
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// TestCampaignChaos hurts a cluster with jobs of several policies in every way, at
// random: replicas are killed, frozen, drained, all at once too; nodes are killed,
// frozen, and come back empty, a minority at a time. Afterwards the ledger must be
// true, tick by tick.
func TestCampaignChaos(t *testing.T) {
	t.Parallel()
	servers := redistest.StartN(t, 5)
	c := campaigntest.New(t)
	c.Config = writeConfig(t, servers, "jobs:\n"+c.Commands())
	c.Begin()
	c.Storm(length.Of(1, 5), append(
		c.ReplicaFaults(),
		campaigntest.Fault{What: "nodes frozen", Do: func() {
			node := servers[c.Rand.IntN(len(servers))]
			node.Freeze()
			c.Wait(time.Second + c.UpTo(1500*time.Millisecond))
			node.Thaw()
		}},
		campaigntest.Fault{What: "nodes killed, and back without memory", Do: func() {
			node := servers[c.Rand.IntN(2)] // a quorum never loses its memory
			node.Kill()
			c.Wait(c.UpTo(1500 * time.Millisecond))
			node.Restart(false)
			c.Wait(campaigntest.Grace + time.Second)
		}},
	))
	c.Finish()
}
