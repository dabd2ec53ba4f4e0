package browser_test

import (
	"syscall"
	"testing"
	"time"
)

// troubleJobs are triggered by hand, so that the test knows what runs.
const troubleJobs = `jobs:
  heartbeat: {func: work, schedule: "@every 2s"}
  invoices: {func: work, schedule: "@yearly", params: {fails: "no such table: orders"}}
  import: {func: work, schedule: "@yearly", params: {for: 10m}}
  ledger-export: {func: deaf, schedule: "@yearly", params: {for: 8s, sink: SINK}}
`

// TestTrouble does to a cluster what happens at night, for real, and wants whoever
// has the overview open to read of each in words.
func TestTrouble(t *testing.T) {
	t.Parallel()
	c := newCluster(t, troubleJobs)
	c.start("web-1", "web-2", "web-3")
	browser := startBrowser(t)
	operator := login(t, browser, c.urls["web-1"], "operator")

	watched := login(t, browser, c.urls["web-2"], "viewer")
	at := time.Now()
	operator.starts("invoices")
	watched.reads("a job that fails", at, "1 job failed", "invoices", "no such table: orders")

	frozen := operator.runsOn("ledger-export")
	watched = login(t, browser, c.urls[c.other(frozen)], "viewer")
	c.replicas[frozen].signal(syscall.SIGSTOP)
	watched.reads("a replica that is frozen", time.Now(), frozen+" has been silent for")
	second := login(t, browser, c.urls[c.other(frozen)], "operator")
	second.starts("ledger-export", "params", `{"for": "0s"}`)
	second.open("/ticks?job=ledger-export")
	second.wait("a later run has written", lists("succeeded"))
	c.replicas[frozen].signal(syscall.SIGCONT)
	watched.reads("a stale write that is refused", time.Now(), "1 stale write was refused", "ledger-export")
	watched.reads("a replica that is back", time.Now(), "3 replicas, all ready")

	killed := second.runsOn("import")
	watched = login(t, browser, c.urls[c.other(killed)], "viewer")
	c.replicas[killed].kill()
	at = time.Now()
	watched.reads("a replica that is killed", at, killed+" has been silent for")
	watched.reads("the run that it left half done", at, "2 replicas, all ready", killed+" has gone, with a run of import half done")

	c.nodes[0].Kill()
	watched.reads("a node that is killed", time.Now(), "4 of 5 nodes vote", "redis-1 is down", "one more loss is fine")
	if bad := watched.noticed(); len(bad) > 0 {
		t.Error(bad)
	}
}

// reads waits until the overview, which is open, says all the words, and logs how
// long that took.
func (b *tab) reads(what string, since time.Time, words ...string) {
	b.t.Helper()
	for _, one := range words {
		b.wait(one, says(one))
	}
	b.t.Logf("%-32s is on the overview after %.1f s", what, time.Since(since).Seconds())
}

// starts triggers a job.
func (b *tab) starts(job string, pairs ...string) {
	b.t.Helper()
	b.asks("/jobs/"+job, "/jobs/"+job+"/trigger", pairs...)
	b.send("Triggered")
}

// runsOn triggers a job and returns the replica that runs it.
func (b *tab) runsOn(job string) string {
	b.t.Helper()
	b.begins(job, (*tab).wait)
	return eval[string](b, `document.querySelector("main").innerText.match(/`+job+` on (web-\d)/)[1]`)
}

// other is a replica, but not that one.
func (c *cluster) other(id string) string {
	if id == "web-1" {
		return "web-2"
	}
	return "web-1"
}
