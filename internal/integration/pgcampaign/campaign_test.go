package pgcampaign_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/truth"
)

var campaignSeed = flag.Uint64("campaign", 0, "the seed of the campaigns; 0: a new one")

// Times in the configuration.
const (
	ttl     = 3 * time.Second
	grace   = 4 * time.Second
	timeout = 350 * time.Millisecond
	window  = 10 * time.Second // the default
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

var replicaIDs = []string{"a", "b", "c"}

// A campaign is three replicas that use one store, and what is known of its faults.
type campaign struct {
	t        *testing.T
	rand     *rand.Rand
	config   string
	configs  map[string]string // of replicas that have one of their own
	sink     string
	replicas map[string]*process
	lives    []*process
	thawed   []time.Time // when the store answered again
	promoted bool
	lost     []truth.Span // whose commits a promoted standby lacks
	apart    []truth.Span // in which two servers called themselves primary

	faults map[string]int
}

func newCampaign(t *testing.T) *campaign {
	t.Helper()
	seed := *campaignSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: -run %s -args -campaign=%d", t.Name(), seed)
	dir := t.TempDir()
	return &campaign{
		t: t, rand: rand.New(rand.NewPCG(seed, 0)), replicas: map[string]*process{}, faults: map[string]int{},
		config: filepath.Join(dir, "config.yaml"), sink: filepath.Join(dir, "lines"),
	}
}

// begin sets up the store and starts the replicas.
func (c *campaign) begin(url string) {
	c.t.Helper()
	c.beginWith(url, c.commands(), len(allJobs()))
}

// beginWith does so with other jobs.
func (c *campaign) beginWith(url, jobs string, count int) {
	c.t.Helper()
	c.configure(fmt.Sprintf(`postgres: {url: %q, failover_grace: %s, timeout: %s}`, url, grace, timeout), jobs)
	must(c.t, "store", "migrate", "-c", c.config)
	c.initNew(count)
}

// initNew declares the store new, and starts the replicas.
func (c *campaign) initNew(count int) {
	c.t.Helper()
	must(c.t, "store", "init", "-c", c.config)
	for _, id := range replicaIDs {
		c.start(id)
	}
	c.ready()
	eventually(c.t, "the jobs are published", func() bool {
		return strings.Count(must(c.t, "jobs", "-c", c.config, "-o", "json"), `"schedule"`) >= count
	})
}

// configure writes the configuration, with the section of the store.
func (c *campaign) configure(store, jobs string) {
	c.t.Helper()
	c.write(c.config, store, jobs)
}

func (c *campaign) write(path, store, jobs string) {
	c.t.Helper()
	text := fmt.Sprintf(`namespace: campaign
%s
lock: {ttl: %s, safety_margin: 1200ms}
log: {format: json}
jobs:
%s`, store, ttl, jobs)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// commands is the configuration of allJobs.
func (c *campaign) commands() string {
	var text strings.Builder
	for _, j := range allJobs() {
		fmt.Fprintf(&text, "  %s: {func: exec, %sparams: {command: [sh, -c, 'sleep %s; echo \"$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB\" >> %s']}}\n", j.name, j.more, j.sleep, c.sink)
	}
	return text.String()
}

func (c *campaign) start(id string) {
	c.replicas[id] = startReplica(c.t, cmp.Or(c.configs[id], c.config), id)
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
func lasting[T any](sample, whole T) T {
	if full() {
		return whole
	}
	return sample
}

// some is a replica.
func (c *campaign) some() string { return replicaIDs[c.rand.IntN(len(replicaIDs))] }

// upTo is a duration below the bound.
func (c *campaign) upTo(most time.Duration) time.Duration {
	return time.Duration(c.rand.Int64N(int64(most)))
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
			if !c.wasApart(at) {
				ticks = append(ticks, truth.Tick{Job: j.name, At: at.UTC()})
			}
		}
	}
	c.checkOnce()
	outcomes := c.checkTruth(ticks)
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

// wasApart reports whether the tick may have been claimed while two servers called
// themselves primary. Nothing is promised of it.
func (c *campaign) wasApart(tick time.Time) bool {
	return slices.ContainsFunc(c.apart, func(s truth.Span) bool { return tick.After(s.From.Add(-window)) && tick.Before(s.To) })
}
