package browser_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	quorumledger "github.com/quorate/quorate/internal/store/quorum/ledger"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	singleledger "github.com/quorate/quorate/internal/store/single/ledger"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// hostile is what somebody writes wherever text is taken.
const hostile = `"'><img src=x onerror="window.hurt=1"><script>window.hurt=1;alert(1)</script></pre><svg onload=alert(2)>{{.}}`

// shopJobs are those of the cluster that most tests look at.
var shopJobs = fmt.Sprintf(`jobs:
  heartbeat: {func: work, schedule: "@every 2s", tags: [ops], description: Shows that the shop is awake}
  nightly-report: {func: work, schedule: "0 2 * * *", timezone: Europe/Paris, tags: [finance], params: {lines: [reading orders, writing the report]}}
  hourly-sync: {func: work, schedule: "0 * * * *"}
  import: {func: work, schedule: "@yearly", params: {for: 10m, lines: [reading the file]}}
  slow: {func: work, schedule: "@yearly", params: {lines: [first half, second half], sink: SINK, waits: true}}
  hostile: {func: work, schedule: "@yearly", description: %[1]q, params: {lines: [%[1]q], fails: %[1]q}}
`, hostile)

// newShop starts a cluster whose first replica is at home.
func newShop(t *testing.T, begin func(*testing.T, string) *cluster) (c *cluster, home string) {
	t.Helper()
	c = begin(t, shopJobs)
	c.attack()
	c.start("web-1", "web-2", "web-3")
	return c, c.urls["web-1"]
}

// A shelf takes what replicas publish and record.
type shelf struct {
	publish func(context.Context, []roster.JobInfo) error
	record  func(context.Context, ledger.Entry) (bool, error)
}

// shelf opens the store as a replica does.
func (c *cluster) shelf() shelf {
	c.t.Helper()
	if c.db != nil {
		s, err := postgres.Open(c.t.Context(), postgres.Config{URL: c.db.URL(), Schema: "shop"})
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(s.Close)
		return shelf{singleledger.NewRoster(s).Publish, singleledger.New(s, 12*time.Second).Record}
	}
	l := quorumledger.New(c.set())
	return shelf{l.Publish, l.Record}
}

// set opens the nodes as a replica does.
func (c *cluster) set() *membership.Set {
	c.t.Helper()
	cfg := membership.Config{Namespace: "shop", Timeout: time.Second, TTL: 5 * time.Second, Grace: 12 * time.Second}
	for i, url := range redistest.URLs(c.nodes) {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{Name: fmt.Sprintf("redis-%d", i+1), URL: url})
	}
	set, err := membership.Open(cfg)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = set.Close() })
	if err := set.Join(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return set
}

// attack publishes a job with a name that no configuration can have, and what became
// of its tick: whoever can write to the nodes can do that.
func (c *cluster) attack() {
	c.t.Helper()
	shelf, now := c.shelf(), time.Now().Truncate(time.Millisecond)
	job := roster.JobInfo{Name: hostile, Schedule: "@every 1h", Timezone: "UTC", Func: hostile, Tags: []string{hostile}, Replica: hostile, Published: now}
	if err := shelf.publish(c.t.Context(), []roster.JobInfo{job}); err != nil {
		c.t.Fatal(err)
	}
	_, err := shelf.record(c.t.Context(), ledger.Entry{
		Job: hostile, Tick: now.Add(-time.Minute), Trigger: ledger.BySchedule, Replica: hostile, Outcome: ledger.Missed, Reason: ledger.TextReason(hostile),
	})
	if err != nil {
		c.t.Fatal(err)
	}
}
