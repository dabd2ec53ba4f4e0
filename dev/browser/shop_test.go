package browser_test

import (
	"fmt"
	"testing"
	"time"

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
func newShop(t *testing.T, on kind) (c *cluster, home string) {
	t.Helper()
	c = newCluster(t, on, shopJobs)
	c.attack()
	c.start("web-1", "web-2", "web-3")
	return c, c.urls["web-1"]
}

// attack publishes a job with a name that no configuration can have, and what became
// of its tick: whoever can write to the store can do that.
func (c *cluster) attack() {
	c.t.Helper()
	records, now := c.open().Records(), time.Now().Truncate(time.Millisecond)
	job := roster.JobInfo{Name: hostile, Schedule: "@every 1h", Timezone: "UTC", Func: hostile, Tags: []string{hostile}, Replica: hostile, Published: now}
	if err := records.Roster.Publish(c.t.Context(), []roster.JobInfo{job}); err != nil {
		c.t.Fatal(err)
	}
	_, err := records.Ledger.Record(c.t.Context(), ledger.Entry{
		Job: hostile, Tick: now.Add(-time.Minute), Trigger: ledger.BySchedule, Replica: hostile, Outcome: ledger.Missed, Reason: ledger.TextReason(hostile),
	})
	if err != nil {
		c.t.Fatal(err)
	}
}
