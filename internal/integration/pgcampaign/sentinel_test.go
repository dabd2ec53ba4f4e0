package pgcampaign_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/truth"
)

// A sentinels is a campaign on three Redis servers, of which Sentinels choose the master.
type sentinels struct {
	*campaign
	servers []*redistest.Server
	clients []*redis.Client    // of them
	doors   []*redistest.Proxy // by which all reach the server of the same index
	master  int
	ask     *redis.SentinelClient
	// side leads replica c to the master, as a name of a network does, and also to one that
	// is cut off from all others.
	side *redistest.Proxy
	away time.Duration // without ticks, of all failovers
}

// outsider is the replica that reaches the master by the side door.
const outsider = "c"

// TestCampaignSentinel makes Sentinels promote one server after another: masters are killed,
// frozen until after the failover, and cut off while a replica still reaches them. No tick
// runs twice, tokens grow, and the ledger is true.
func TestCampaignSentinel(t *testing.T) {
	t.Parallel()
	c := newSentinels(t, 2)
	from := time.Now().Add(time.Second)
	times := lasting(1, 100)
	for n := range times {
		c.failover(n % kindsOfFailover)
	}
	c.finish(from)
	t.Logf("%v without a tick for each failover", (c.away / time.Duration(times)).Round(10*time.Millisecond))
}

// TestCampaignBehind kills masters that are ahead of their replicas, with no copies: the new
// master lacks what was granted last. No tick runs twice, since the old one is silent.
func TestCampaignBehind(t *testing.T) {
	t.Parallel()
	c := newSentinels(t, 0)
	from := time.Now().Add(time.Second)
	for range lasting(1, 30) {
		c.failover(kindsOfFailover)
	}
	c.finish(from)
}

func newSentinels(t *testing.T, copies int) *sentinels {
	t.Helper()
	c := &sentinels{campaign: newCampaign(t)}
	for i := range 3 {
		s := redistest.Start(t, redistest.Conf("repl-diskless-sync-delay 0", "repl-timeout 5", "replica-announce-ip 127.0.0.1"))
		c.servers, c.clients = append(c.servers, s), append(c.clients, s.Client())
		c.doors = append(c.doors, redistest.NewProxy(t, s.Addr()))
		c.announce(i)
	}
	for i := 1; i < 3; i++ {
		c.follow(i, 0)
	}
	redistest.AwaitReplicas(t, c.servers[0], 2)
	watchers := redistest.StartSentinels(t, c.doors[0].Addr(), 2)
	c.ask = redis.NewSentinelClient(&redis.Options{Addr: watchers[0].Addr(), DisableIdentity: true})
	t.Cleanup(func() { _ = c.ask.Close() })
	c.side = redistest.NewProxy(t, c.servers[0].Addr())
	t.Cleanup(func() {
		for i, client := range c.clients {
			if t.Failed() {
				t.Logf("server %d, door %s: %s", i, c.doors[i].Addr(), client.Info(context.WithoutCancel(t.Context()), "replication").Val())
			}
		}
	})

	times := fmt.Sprintf("restart_grace: %s, node_timeout: %s, copies: %d", grace, timeout, copies)
	c.configure(fmt.Sprintf("redis: {sentinel: {master: %s, addresses: [%s]}, %s}", redistest.MasterName, quoted(redistest.URLs(watchers)), times), c.commands())
	c.configs = map[string]string{outsider: filepath.Join(t.TempDir(), "outsider.yaml")}
	c.write(c.configs[outsider], fmt.Sprintf(`redis: {url: "redis://%s", %s}`, c.side.Addr(), times), c.commands())
	c.initNew(len(allJobs()))
	return c
}

func quoted(list []string) string { return `"` + strings.Join(list, `", "`) + `"` }

// announce makes the server known by its door, also after a restart.
func (c *sentinels) announce(i int) {
	c.t.Helper()
	_, port, _ := net.SplitHostPort(c.doors[i].Addr())
	if err := c.clients[i].ConfigSet(c.t.Context(), "replica-announce-port", port).Err(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *sentinels) follow(i, master int) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(c.doors[master].Addr())
	if err := c.clients[i].ReplicaOf(c.t.Context(), host, port).Err(); err != nil {
		c.t.Fatal(err)
	}
}

// kindsOfFailover is how many kinds need copies.
const kindsOfFailover = 3

// failover makes another server the master, and returns when ticks run again.
func (c *sentinels) failover(kind int) {
	c.t.Helper()
	wait(c.t, c.upTo(2*time.Second))
	old, began := c.master, time.Now()
	switch kind {
	case 1:
		c.faults["masters killed"]++
		c.servers[old].Kill()
		c.awaitMaster(old)
		wait(c.t, c.upTo(2*time.Second))
		c.servers[old].Restart(false)
		c.announce(old)
	case 2:
		c.faults["masters frozen, and back beside the new one"]++
		c.servers[old].Freeze()
		c.awaitMaster(old)
		wait(c.t, grace+c.upTo(3*time.Second)) // the new one grants by then
		c.servers[old].Thaw()
		wait(c.t, c.upTo(2*time.Second))
	case 0:
		c.faults["masters cut off, but for one replica"]++
		c.cut(old)
		c.awaitMaster(old)
		wait(c.t, grace+c.upTo(5*time.Second))
		c.doors[old].Target(c.servers[old].Addr())
	case kindsOfFailover:
		c.faults["masters killed ahead of their replicas"]++
		ahead := time.Now()
		c.cut(old)
		wait(c.t, 1500*time.Millisecond)
		c.servers[old].Kill()
		c.lost = append(c.lost, truth.Span{From: ahead, To: time.Now()})
		c.awaitMaster(old)
		c.side.Target(c.doors[c.master].Addr()) // the old one begins as another master, until Sentinels see it
		c.servers[old].Restart(false)
		c.announce(old)
		c.doors[old].Target(c.servers[old].Addr())
	}
	// The name of the master leads to the new one, and the old one follows it. On a busy
	// machine Sentinels may have chosen another one meanwhile.
	redistest.Await(c.t, "the old master to follow", func(ctx context.Context) bool {
		return c.look(ctx) && strings.Count(c.clients[c.master].Info(ctx, "replication").Val(), "state=online") == 2
	})
	c.side.Target(c.doors[c.master].Addr())
	c.side.Break()
	c.promoted = true
	c.thawed = append(c.thawed, time.Now())
	c.awaitRun(began)
	c.t.Logf("failover %d: from %s, healed %s", kind, began.UTC().Format("15:04:05.0"), c.thawed[len(c.thawed)-1].UTC().Format("15:04:05.0"))
}

// cut closes the door of the server to all, and keeps it closed. The side door stays.
func (c *sentinels) cut(i int) {
	c.side.Target(c.servers[i].Addr())
	c.doors[i].Target("127.0.0.1:1") // where nobody listens
	c.doors[i].Break()
}

// awaitMaster waits until the Sentinels name another master.
func (c *sentinels) awaitMaster(old int) {
	c.t.Helper()
	redistest.Await(c.t, "another master", func(ctx context.Context) bool {
		return c.look(ctx) && c.master != old
	})
}

// look asks the Sentinels for the master.
func (c *sentinels) look(ctx context.Context) bool {
	at := c.ask.GetMasterAddrByName(ctx, redistest.MasterName).Val()
	if len(at) != 2 {
		return false
	}
	c.master = slices.IndexFunc(c.doors, func(p *redistest.Proxy) bool { return p.Addr() == net.JoinHostPort(at[0], at[1]) })
	return c.master >= 0
}

// awaitRun waits until a tick of after the failover has run, and adds the time without.
func (c *sentinels) awaitRun(began time.Time) {
	c.t.Helper()
	healed := time.Now()
	eventually(c.t, "ticks run again", func() bool {
		for _, e := range c.effects() {
			if e.At.After(healed) {
				c.away += e.At.Sub(began)
				return true
			}
		}
		return false
	})
}
