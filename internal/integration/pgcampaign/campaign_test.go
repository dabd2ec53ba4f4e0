package pgcampaign_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/internal/store/postgres/pgtest"
	"github.com/quorate/quorate/internal/truth"
)

var campaignSeed = flag.Uint64("campaign", 0, "the seed of the campaigns; 0: a new one")

// Times in the configuration.
const (
	ttl    = 3 * time.Second
	grace  = 4 * time.Second
	window = 10 * time.Second // the default
)

// repeated is the job that runs again after a crash.
const repeated = "again"

type job struct{ name, more, sleep string }

func allJobs() []job {
	return []job{
		{"quick", `schedule: "@every 1s", `, "0"},
		{"slow", `schedule: "@every 1s", `, "1.3"},
		{"queues", `schedule: "@every 2s", overlap: queue, `, "0.7"},
		{"caught", `schedule: "@every 2s", catch_up: {mode: all}, `, "0.1"},
		{repeated, `schedule: "@every 2s", on_crash: rerun, `, "0.5"},
	}
}

// A campaign is three replicas on one server, and its faults.
type campaign struct {
	t        *testing.T
	rand     *rand.Rand
	config   string
	sink     string
	server   *pgtest.Server
	proxy    *redistest.Proxy
	replicas map[string]*process
	lives    []*process
	thawed   []time.Time // when the server answered again

	faults map[string]int
}

// begin starts the server and the replicas, which reach it through a proxy.
func begin(t *testing.T) *campaign {
	t.Helper()
	seed := *campaignSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: -run %s -args -campaign=%d", t.Name(), seed)
	dir := t.TempDir()
	c := &campaign{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), server: pgtest.Start(t), replicas: map[string]*process{}, faults: map[string]int{},
		config: filepath.Join(dir, "config.yaml"), sink: filepath.Join(dir, "lines"),
	}
	c.proxy = redistest.NewProxy(t, c.server.Addr())
	var text strings.Builder
	fmt.Fprintf(&text, `namespace: campaign
postgres: {url: %q, failover_grace: %s, timeout: 350ms}
lock: {ttl: %s, safety_margin: 1200ms}
log: {format: json}
jobs:
`, pgtest.URL(c.proxy.Addr(), url.User("postgres"), "postgres"), grace, ttl)
	for _, j := range allJobs() {
		fmt.Fprintf(&text, "  %s: {func: exec, %sparams: {command: [sh, -c, 'sleep %s; echo \"$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB\" >> %s']}}\n", j.name, j.more, j.sleep, c.sink)
	}
	if err := os.WriteFile(c.config, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "store", "migrate", "-c", c.config)
	must(t, "store", "init", "-c", c.config)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.ready()
	eventually(t, "the jobs are published", func() bool {
		return strings.Count(must(t, "jobs", "-c", c.config, "-o", "json"), `"schedule"`) >= len(allJobs())
	})
	return c
}

func (c *campaign) start(id string) {
	c.replicas[id] = startReplica(c.t, c.config, id)
	c.lives = append(c.lives, c.replicas[id])
}

func (c *campaign) ready() {
	c.t.Helper()
	for _, p := range c.replicas {
		p.ready()
	}
}

// full reports whether campaigns run at full length.
func full() bool { return os.Getenv("QUORATE_CAMPAIGN") == "full" }

// lasting is the length of a campaign.
func lasting(sample, whole time.Duration) time.Duration {
	if full() {
		return whole
	}
	return sample
}

// TestCampaignChaos kills, freezes and drains replicas, and kills the server. Afterwards the
// ledger must be true, tick by tick.
func TestCampaignChaos(t *testing.T) {
	t.Parallel()
	c := begin(t)
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
func (c *campaign) fault(n int) {
	c.t.Helper()
	id := []string{"a", "b", "c"}[c.rand.IntN(3)]
	pause := time.Duration(c.rand.IntN(1500)) * time.Millisecond
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

// finish waits until the last ticks are settled, and checks all of them, before and after
// the replicas have ended.
func (c *campaign) finish(from time.Time) {
	c.t.Helper()
	to := time.Now().Add(time.Second)
	wait(c.t, window+3*time.Second) // so that all can run, or be given up
	var ticks []truth.Tick
	for _, j := range allJobs() {
		every := time.Second
		if strings.Contains(j.more, "@every 2s") {
			every = 2 * time.Second
		}
		for at := from.Truncate(every).Add(every); !at.After(to); at = at.Add(every) {
			ticks = append(ticks, truth.Tick{Job: j.name, At: at.UTC()})
		}
	}
	outcomes := c.checkTruth(ticks)
	c.checkOnce()
	for what, n := range c.faults {
		c.t.Logf("%4d × %s", n, what)
	}
	for what, n := range outcomes {
		c.t.Logf("%4d × %s", n, what)
	}
	for _, p := range c.replicas {
		p.drain()
	}
	if !c.t.Failed() {
		wait(c.t, 3*time.Second) // ticks come that nobody decides
		c.checkTruth(ticks)
	}
}
