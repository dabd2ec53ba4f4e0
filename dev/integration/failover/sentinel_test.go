package failover_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/dev/testkit/campaigntest"
	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/proxytest"
	"github.com/quorate/quorate/dev/testkit/redistest"
)

// A sentinels is a campaign on three Redis servers, of which Sentinels choose the master.
type sentinels struct {
	*campaigntest.Campaign
	servers []*redistest.Server
	frail   *redistest.Server  // a Sentinel that is on the machine of whichever master is frozen
	clients []*redis.Client    // of them
	doors   []*proxytest.Proxy // by which all reach the server of the same index
	master  int
	ask     *redis.SentinelClient
	// side leads the outsider to the master, as a name of a network does, and also to one that
	// is cut off from all others.
	side *proxytest.Proxy
	away time.Duration // without ticks, of all failovers
}

// TestCampaignSentinel makes Sentinels promote one server after another: masters are killed,
// frozen until after the failover, and cut off while a replica still reaches them. No tick
// runs twice, tokens grow, and the ledger is true.
func TestCampaignSentinel(t *testing.T) {
	t.Parallel()
	// Each part has each kind of failover twice. The ledger keeps 1,000 ticks of a job, which is more.
	for part := range length.Of(1, 4) {
		t.Run(strconv.Itoa(part), func(t *testing.T) {
			t.Parallel()
			c := newSentinels(t, 2)
			times := length.Of(1, 6)
			for n := range times {
				c.failover((part + n) % kindsOfFailover)
				if n == times/2 {
					c.CheckReads()
				}
			}
			c.Finish()
			t.Logf("%v without a tick for each failover", (c.away / time.Duration(times)).Round(10*time.Millisecond))
		})
	}
}

// TestCampaignBehind kills masters that are ahead of their replicas, with no copies: the new
// master lacks what was granted last. No tick runs twice, since the old one is silent.
func TestCampaignBehind(t *testing.T) {
	t.Parallel()
	c := newSentinels(t, 0)
	times := length.Of(1, 30)
	for n := range times {
		c.failover(kindsOfFailover)
		if n == times/2 {
			c.CheckReads()
		}
	}
	c.Finish()
}

func newSentinels(t *testing.T, copies int) *sentinels {
	t.Helper()
	c := &sentinels{Campaign: campaigntest.New(t)}
	for i := range 3 {
		s := redistest.Start(t, redistest.Conf("appendonly yes", "repl-diskless-sync-delay 0", "repl-timeout 5", "replica-announce-ip 127.0.0.1"))
		c.servers, c.clients = append(c.servers, s), append(c.clients, s.Client())
		c.doors = append(c.doors, proxytest.New(t, s.Addr()))
		c.announce(i)
	}
	for i := 1; i < 3; i++ {
		c.follow(i, 0)
	}
	redistest.AwaitReplicas(t, c.servers[0], 2)
	watchers := redistest.StartSentinels(t, c.doors[0].Addr(), 2)
	c.frail = watchers[2]
	c.ask = redis.NewSentinelClient(&redis.Options{Addr: watchers[0].Addr(), DisableIdentity: true})
	t.Cleanup(func() { _ = c.ask.Close() })
	c.side = proxytest.New(t, c.servers[0].Addr())
	t.Cleanup(func() {
		for i, client := range c.clients {
			if t.Failed() {
				t.Logf("server %d, door %s: %s", i, c.doors[i].Addr(), client.Info(context.WithoutCancel(t.Context()), "replication").Val())
			}
		}
	})

	c.Facts.Uncopied = copies > 0
	times := fmt.Sprintf("restart_grace: %s, node_timeout: %s, copies: %d", campaigntest.Grace, campaigntest.Timeout, copies)
	c.Configure(fmt.Sprintf("redis: {sentinel: {master: %s, addresses: [%s]}, %s}", redistest.MasterName, quoted(redistest.URLs(watchers)), times), c.Commands())
	c.ConfigureOutsider(fmt.Sprintf(`redis: {url: "redis://%s", %s}`, c.side.Addr(), times), c.Commands())
	c.Begin()
	return c
}

func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }

// announce makes the server known by its door, also after a restart.
func (c *sentinels) announce(i int) {
	c.Helper()
	_, port, _ := net.SplitHostPort(c.doors[i].Addr())
	if err := c.clients[i].ConfigSet(c.Context(), "replica-announce-port", port).Err(); err != nil {
		c.Fatal(err)
	}
}

func (c *sentinels) follow(i, master int) {
	c.Helper()
	host, port, _ := net.SplitHostPort(c.doors[master].Addr())
	if err := c.clients[i].ReplicaOf(c.Context(), host, port).Err(); err != nil {
		c.Fatal(err)
	}
}

// kindsOfFailover is how many kinds need copies.
const kindsOfFailover = 3

// failover makes another server the master, and returns when ticks run again.
func (c *sentinels) failover(kind int) {
	c.Helper()
	c.Wait(c.UpTo(2 * time.Second))
	old, began := c.master, time.Now()
	switch kind {
	case 1:
		c.Note("masters killed")
		c.servers[old].Kill()
		c.awaitMaster(old)
		c.Wait(c.UpTo(2 * time.Second))
		c.servers[old].Restart(false)
		c.announce(old)
	case 2:
		c.Note("masters frozen with a Sentinel, and back beside the new one")
		c.servers[old].Freeze()
		c.frail.Freeze()
		c.awaitMaster(old)
		c.Wait(campaigntest.Grace + c.UpTo(3*time.Second)) // the new one grants by then
		c.servers[old].Thaw()
		c.frail.Thaw()
		c.Wait(c.UpTo(2 * time.Second))
	case 0:
		c.Note("masters cut off, but for one replica")
		c.cut(old)
		c.awaitMaster(old)
		c.Wait(campaigntest.Grace + c.UpTo(5*time.Second))
		c.doors[old].Target(c.servers[old].Addr())
	case kindsOfFailover:
		c.killAhead(old)
	}
	// The name of the master leads to the new one, and the old one follows it. On a busy
	// machine Sentinels may have chosen another one meanwhile.
	redistest.Await(c.T, "the old master to follow", func(ctx context.Context) bool {
		return c.look(ctx) && strings.Count(c.clients[c.master].Info(ctx, "replication").Val(), "state=online") == 2
	})
	c.side.Target(c.doors[c.master].Addr())
	c.side.Break()
	c.Facts.Promoted = true
	c.Healed()
	c.away += c.AwaitRun().At.Sub(began)
	c.Logf("failover %d: from %s, healed %s", kind, began.UTC().Format("15:04:05.0"), time.Now().UTC().Format("15:04:05.0"))
}

// killAhead kills the master while its replicas lack what it granted last. One replica of ours is frozen meanwhile: it has
// not seen what the others claim, and tries later. Another is killed, and reads what was missed.
func (c *sentinels) killAhead(old int) {
	c.Helper()
	c.Note("masters killed ahead of their replicas")
	ids := []string{"a", "b"}
	c.Rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	wake := c.Replicas[ids[0]].Freeze()
	ahead := time.Now()
	c.cut(old)
	c.Wait(1500 * time.Millisecond)
	c.servers[old].Kill()
	c.Facts.Lost = append(c.Facts.Lost, checker.Span{From: ahead, To: time.Now()})
	c.awaitMaster(old)
	c.side.Target(c.doors[c.master].Addr())
	wake()
	c.servers[old].Restart(false)
	c.announce(old)
	c.follow(old, c.master) // Sentinels would leave it a master for ten seconds
	c.doors[old].Target(c.servers[old].Addr())
	c.Replicas[ids[1]].Kill()
	c.Start(ids[1])
}

// cut closes the door of the server to all, and keeps it closed. The side door stays.
func (c *sentinels) cut(i int) {
	c.side.Target(c.servers[i].Addr())
	c.doors[i].Target("127.0.0.1:1") // where nobody listens
	c.doors[i].Break()
}

// awaitMaster waits until the Sentinels name another master.
func (c *sentinels) awaitMaster(old int) {
	c.Helper()
	redistest.Await(c.T, "another master", func(ctx context.Context) bool {
		return c.look(ctx) && c.master != old
	})
}

// look asks the Sentinels for the master.
func (c *sentinels) look(ctx context.Context) bool {
	at := c.ask.GetMasterAddrByName(ctx, redistest.MasterName).Val()
	if len(at) != 2 {
		return false
	}
	c.master = slices.IndexFunc(c.doors, func(p *proxytest.Proxy) bool { return p.Addr() == net.JoinHostPort(at[0], at[1]) })
	return c.master >= 0
}
