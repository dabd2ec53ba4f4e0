package cmd

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redistest"
)

var chaosSeed = flag.Uint64("chaos", 0, "the seed of TestCampaignChaos; 0: a new one")

// TestCampaignChaos hurts a cluster with jobs of several policies in every way, at
// random: replicas are killed, frozen, drained, all at once too; nodes are killed,
// frozen, and come back empty, a minority at a time. Afterwards the ledger must be
// true, tick by tick.
func TestCampaignChaos(t *testing.T) {
	t.Parallel()
	seed := *chaosSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./cmd -run TestCampaignChaos -args -chaos=%d", seed)
	out := filepath.Join(t.TempDir(), "lines")
	const command = `params: {command: [sh, -c, 'sleep %s; echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB" >> %s']}`
	jobs := []struct{ name, more, sleep string }{
		{"quick", `{func: exec, schedule: "@every 1s", `, "0"},
		{"slow", `{func: exec, schedule: "@every 1s", `, "1.3"},
		{"queues", `{func: exec, schedule: "@every 2s", overlap: queue, `, "0.7"},
		{"caught", `{func: exec, schedule: "@every 2s", catch_up: {mode: all}, `, "0.1"},
		{"again", `{func: exec, schedule: "@every 2s", on_crash: rerun, `, "0.5"},
		{"beside", `{func: exec, schedule: "@every 1s", overlap: allow, `, "1.5"},
	}
	var text strings.Builder
	text.WriteString("\njobs:\n")
	for _, j := range jobs {
		fmt.Fprintf(&text, "  %s: %s"+command+"}\n", j.name, j.more, j.sleep, out)
	}
	c := &chaos{t: t, rand: rand.New(rand.NewPCG(seed, 0)), servers: redistest.StartN(t, 5), replicas: map[string]*process{}}
	c.config = writeConfig(t, c.servers, text.String())
	initNew(t, c.config)
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.ready()
	// A cluster that is killed before that leaves nothing behind that knows of its ticks.
	eventually(t, "the jobs are published", func() bool { return len(list[listing.Job](t, "jobs", "-c", c.config)) == len(jobs) })
	from := time.Now().Add(time.Second)
	c.storm(from.Add(lasting(12*time.Second, 2*time.Minute)))
	wait(t, campaignWindow+2*time.Second) // so that all can run, or be given up
	to := time.Now().Add(-campaignWindow)

	ticks := map[string][]string{}
	for _, j := range jobs {
		every := time.Second
		if strings.Contains(j.more, "@every 2s") {
			every = 2 * time.Second
		}
		ticks[j.name] = ticksBetween(from, to, every)
	}
	ledger := checkTruth(t, c.config, ticks, out, c.lives...)
	t.Logf("%d killed, %d frozen, %d drained, %d nodes hurt", c.kills, c.freezes, c.drains, c.nodes)
	for what, n := range outcomes(ledger) {
		t.Logf("%4d × %s", n, what)
	}
}

// chaos is a cluster and its faults.
type chaos struct {
	t        *testing.T
	rand     *rand.Rand
	config   string
	servers  []*redistest.Server
	replicas map[string]*process
	lives    []*process

	kills, freezes, drains, nodes int
}

func (c *chaos) start(id string) {
	c.replicas[id] = startReplica(c.t, c.config, id)
	c.lives = append(c.lives, c.replicas[id])
}

func (c *chaos) ready() {
	for _, p := range c.replicas {
		p.waitLog(`"ready"`)
	}
}

// storm does one thing after the other until the end, and leaves all well.
func (c *chaos) storm(end time.Time) {
	c.allGone(3 * time.Second) // at least once
	for time.Now().Before(end) {
		id := []string{"a", "b", "c"}[c.rand.IntN(3)]
		node := c.servers[c.rand.IntN(len(c.servers))]
		pause := time.Duration(c.rand.IntN(1500)) * time.Millisecond
		switch c.rand.IntN(7) {
		case 0, 1:
			c.kills++
			c.replicas[id].kill()
			wait(c.t, pause)
			c.start(id)
		case 2:
			c.freezes++
			if c.freezes%2 == 0 { // while it claims
				due := time.Now().Truncate(time.Second).Add(time.Second)
				wait(c.t, time.Until(due.Add(pause/500)))
			}
			c.replicas[id].freeze(func() { wait(c.t, campaignTTL/2+3*pause) })
		case 3:
			c.drains++
			c.replicas[id].signal(syscall.SIGTERM)
			c.replicas[id].exitCode()
			c.start(id)
		case 4:
			c.nodes++
			node.Freeze()
			wait(c.t, time.Second+pause)
			node.Thaw()
		case 5:
			c.nodes++
			node = c.servers[c.rand.IntN(2)] // a quorum never loses its memory
			node.Kill()
			wait(c.t, pause)
			node.Restart(false)
			wait(c.t, 5*time.Second) // its grace
		case 6:
			c.allGone(pause)
		}
		c.ready()
		wait(c.t, pause)
	}
}

// allGone kills all replicas; the first that comes back dies before it has looked
// far into the past.
func (c *chaos) allGone(pause time.Duration) {
	for _, p := range c.replicas {
		c.kills++
		p.kill()
	}
	wait(c.t, pause)
	c.start("a")
	c.replicas["a"].waitLog(`"run ended"`)
	wait(c.t, 2*time.Second)
	c.replicas["a"].kill()
	for _, id := range []string{"a", "b", "c"} {
		c.start(id)
	}
	c.ready()
}
