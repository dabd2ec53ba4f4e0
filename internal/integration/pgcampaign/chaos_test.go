package pgcampaign_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/store/postgres/pgtest"
)

// A chaos is a campaign on one server, which the replicas reach through a proxy.
type chaos struct {
	*campaign
	server *pgtest.Server
	proxy  *redistest.Proxy
}

// TestCampaignChaos kills, freezes and drains replicas, and kills the server. Afterwards the
// ledger must be true, tick by tick.
func TestCampaignChaos(t *testing.T) {
	t.Parallel()
	s := pgtest.Start(t)
	c := &chaos{newCampaign(t), s, redistest.NewProxy(t, s.Addr())}
	c.begin(pgtest.URL(c.proxy.Addr(), url.User("postgres"), "postgres"))
	from := time.Now().Add(time.Second)
	for _, n := range c.rand.Perm(faults) { // each at least once
		c.fault(n)
	}
	for end := from.Add(lasting(0, 2*time.Minute)); time.Now().Before(end); {
		c.fault(c.rand.IntN(faults))
	}
	c.finish(from)
}

// faults is how many faults there are.
const faults = 6

// fault does one of them, and leaves all well.
func (c *chaos) fault(n int) {
	c.t.Helper()
	id, pause := c.some(), c.upTo(1500*time.Millisecond)
	switch n {
	case 0:
		c.faults["replicas killed"]++
		c.replicas[id].kill()
		wait(c.t, pause)
		c.start(id)
	case 1:
		c.faults["replicas frozen"]++
		c.replicas[id].freeze(ttl/2 + 3*pause)
	case 2:
		c.faults["replicas drained"]++
		c.replicas[id].drain()
		c.start(id)
	case 3:
		c.faults["servers killed"]++
		c.server.Kill(c.t)
		wait(c.t, pause)
		c.server.Restart(c.t)
		c.thawed = append(c.thawed, time.Now())
	case 4:
		c.faults["servers out of reach"]++
		c.proxy.BlackHole()
		wait(c.t, time.Second+pause)
		c.proxy.Pass()
		c.thawed = append(c.thawed, time.Now())
	case 5:
		c.faults["clusters killed"]++
		for _, p := range c.replicas {
			p.kill()
		}
		wait(c.t, pause)
		for id := range c.replicas {
			c.start(id)
		}
	}
	c.ready()
	wait(c.t, pause)
}
