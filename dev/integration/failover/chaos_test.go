package failover_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/dev/testkit/proxytest"
)

// TestCampaignChaos kills, freezes and drains replicas, and kills the server, which the
// replicas reach through a proxy. Afterwards the ledger must be true, tick by tick.
func TestCampaignChaos(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	proxy := proxytest.New(t, s.Addr())
	c := campaigntest.New(t)
	onPostgres(c, pgtest.URL(proxy.Addr(), url.User("postgres"), "postgres"), c.Commands())
	c.Begin()
	c.Storm(length.Of(1, 6), append(
		c.ReplicaFaults(),
		campaigntest.Fault{What: "servers killed", Do: func() {
			s.Kill(t)
			c.Wait(c.UpTo(1500 * time.Millisecond))
			s.Restart(t)
			c.Healed()
		}},
		campaigntest.Fault{What: "servers out of reach", Do: func() {
			proxy.BlackHole()
			c.Wait(time.Second + c.UpTo(1500*time.Millisecond))
			proxy.Pass()
			c.Healed()
		}},
	))
	c.Finish()
}
