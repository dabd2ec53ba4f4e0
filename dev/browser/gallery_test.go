package browser_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// galleryDir is where TestGallery leaves its pictures; empty: nowhere.
var galleryDir = flag.String("gallery", "", "`folder` for pictures of the pages")

// galleryJobs are those of a shop, as one would have them.
const galleryJobs = `groups: {warehouse: {max_running: 2}}
jobs:
  sync-orders: {func: work, schedule: "*/5 * * * *", tags: [shop], description: Takes new orders over from the shops, params: {for: 4s, lines: ["asked 3 shops", "12 new orders"]}}
  send-reminders: {func: work, schedule: "*/10 * * * *", tags: [mail], description: Reminds customers of what they left in the basket}
  price-import: {func: work, schedule: "*/20 * * * *", tags: [shop, prices], overlap: allow, description: Reads the price lists of all suppliers, params: {for: 10m, lines: ["supplier 1 of 4: Abel & Sons, 1,204 prices", "supplier 2 of 4: Brandt, 388 prices", "supplier 3 of 4: Costa, 2,910 prices", "supplier 4 of 4: Dvorak, 77 prices"]}}
  nightly-report: {func: work, schedule: "0 2 * * *", timezone: Europe/Paris, tags: [finance], description: "Sends yesterday's figures to the board"}
  invoices: {func: work, schedule: "0,30 * * * *", tags: [finance], description: Writes the invoices of delivered orders, params: {fails: "no such table: deliveries"}}
  ledger-export: {func: deaf, schedule: "7 * * * *", tags: [finance], description: Writes the day's total to the ledger, params: {sink: SINK, waits: true}}
  stock-check: {func: work, schedule: "*/15 * * * *", tags: [warehouse], group: warehouse, description: Compares the shelves with the books, params: {for: 3s}}
`

// TestGallery writes a picture of each page of a cluster in which a lot has happened.
func TestGallery(t *testing.T) {
	if *galleryDir == "" {
		t.Log("no picture was asked for: make gallery")
		return
	}
	if err := os.MkdirAll(*galleryDir, 0o755); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, nodes(), galleryJobs)
	c.remember()
	c.start("web-1", "web-2", "web-3")
	browser := startBrowser(t)
	b := login(t, browser, c.urls["web-1"], "admin")
	frozen := b.stalls("ledger-export", c, browser)
	home := c.urls[c.other(frozen)]
	b = login(t, browser, home, "admin")
	b.asksPlainly("/jobs/nightly-report", "/jobs/nightly-report/pause", "the bank is down until Monday")
	b.asksPlainly("/jobs/price-import", "/jobs/price-import/trigger", "Costa sent a new list")
	b.open("/")
	b.wait("the import runs", isRunning("price-import"))
	run := b.links(`#running a[href*="/runs/price-import"]`)[0]
	c.nodes[4].Kill()
	b.wait("a node is down", says("redis-5 is down"))
	b.wait("the replica is back", says("3 replicas, all ready"))
	b.open(run)
	b.sees("price-import", "running")

	b.size(wide, 800)
	for _, shot := range []struct{ name, path string }{
		{"overview", "/"},
		{"jobs", "/jobs"},
		{"job", "/jobs/sync-orders"},
		{"ticks", "/ticks"},
		{"run", run},
		{"replicas", "/replicas"},
		{"nodes", "/nodes"},
		{"locks", "/locks"},
		{"audit", "/audit"},
		{"act", "/jobs/sync-orders/backfill"},
	} {
		b.open(shot.path)
		b.pictures(*galleryDir, shot.name)
	}
	b.likes("dark")
	b.open("/")
	b.pictures(*galleryDir, "overview-dark")
	b.likes("light")
	b.size(narrow, long)
	b.open("/")
	b.pictures(*galleryDir, "overview-phone")
	b.open("/jobs")
	b.pictures(*galleryDir, "jobs-phone")

	b.size(wide, 800)
	c.config = c.write("next.yaml", strings.NewReplacer("*/20", "*/30", "3 shops", "4 shops", "max_running: 2", "max_running: 3").Replace(galleryJobs))
	c.start("web-4")
	b.open("/configuration")
	b.wait("two sets of jobs are compared", says("is changed"))
	b.pictures(*galleryDir, "configuration")
}

// asksPlainly asks for a command with a reason that people would give.
func (b *tab) asksPlainly(page, form, reason string) {
	b.t.Helper()
	b.asks(page, form, "reason", reason)
	b.click("form.act button.primary")
}

// stalls freezes the replica that runs a job beyond its lease, lets another run of it
// write, and thaws it. It returns the replica.
func (b *tab) stalls(job string, c *cluster, browser *chromium) string {
	b.t.Helper()
	trigger := "/jobs/" + job + "/trigger"
	b.asksPlainly("/jobs/"+job, trigger, "the total of Friday is wrong")
	b.open("/")
	b.wait(job+" runs", isRunning(job))
	frozen := b.runner(job)
	c.replicas[frozen].signal(syscall.SIGSTOP)
	other := login(b.t, browser, c.urls[c.other(frozen)], "operator")
	other.open("/jobs/" + job)
	other.click(fmt.Sprintf(`main a[href$=%q]`, trigger))
	other.fill("reason", "once more")
	other.fill("params", `{"for": "1s", "waits": false}`)
	other.click("form.act button.primary")
	other.open("/ticks?job=" + job + "&trigger=manual")
	other.wait("a later run has written", lists("succeeded"))
	c.replicas[frozen].signal(syscall.SIGCONT)
	c.lets()
	other.open("/")
	other.wait("the stale write", says("A guard refused"))
	return frozen
}
