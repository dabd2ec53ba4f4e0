package browser_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// troubleJobs are triggered by hand, so that the test knows what runs.
const troubleJobs = `jobs:
  heartbeat: {func: work, schedule: "@every 2s"}
  invoices: {func: work, schedule: "@yearly", params: {fails: "no such table: orders"}}
  import: {func: work, schedule: "@yearly", params: {for: 10m}}
  slow: {func: work, schedule: "@yearly", params: {for: 5s}}
  ledger-export: {func: deaf, schedule: "@yearly", params: {sink: SINK, waits: true}}
`

// A trouble is a cluster to which something happens, and how long whoever had the
// overview open took to read of it.
type trouble struct {
	*cluster
	browser *chromium
	rows    []string
}

// TestTrouble does to a cluster what happens at night, for real, and wants whoever
// has the overview open to read of each in words. With -short only the server of another
// store than nodes has troubles.
func TestTrouble(t *testing.T) {
	t.Parallel()
	onEach(t, append(servers("PostgreSQL"), nodes()), func(t *testing.T, on kind) {
		c := &trouble{cluster: newCluster(t, on, troubleJobs), browser: startBrowser(t)}
		c.start("web-1", "web-2", "web-3")
		t.Cleanup(func() { t.Log("what is on the overview after how many seconds:\n" + strings.Join(c.rows, "\n")) })
		if c.server == nil || !testing.Short() {
			operator, watched := login(t, c.browser, c.urls["web-1"], "operator"), login(t, c.browser, c.urls["web-2"], "viewer")
			operator.starts("invoices")
			c.reads(watched, "a job that fails", says("1 job fails: invoices"), says("no such table: orders"))
			c.stalls(operator)
			c.losesReplica(operator)
		}
		if c.server == nil {
			c.losesNodes()
		} else {
			c.losesServer()
		}
	})
}

// stalls freezes a replica beyond its lease, lets another run write, and thaws it.
func (c *trouble) stalls(operator *tab) {
	c.t.Helper()
	frozen := operator.runsOn("ledger-export")
	watched := login(c.t, c.browser, c.urls[c.other(frozen)], "viewer")
	second := login(c.t, c.browser, c.urls[c.other(frozen)], "operator")
	c.replicas[frozen].signal(syscall.SIGSTOP)
	c.reads(watched, "a replica that is frozen", isAway(frozen))
	second.starts("ledger-export", "params", `{"waits": false}`)
	second.open("/ticks?job=ledger-export")
	second.wait("a later run has written", lists("succeeded"))
	c.replicas[frozen].signal(syscall.SIGCONT)
	c.reads(watched, "a replica that is back", says("3 replicas, all ready"))
	c.lets()
	c.reads(watched, "a stale write that is refused", says("A guard refused stale writes in the last 24 h: "), says("ledger-export"))
}

// losesReplica kills one that runs something.
func (c *trouble) losesReplica(operator *tab) {
	c.t.Helper()
	killed := operator.runsOn("import")
	watched, left := login(c.t, c.browser, c.urls[c.other(killed)], "viewer"), login(c.t, c.browser, c.urls[killed], "viewer")
	c.replicas[killed].kill()
	delete(c.urls, killed)
	c.reads(watched, "a replica that is killed", isAway(killed))
	c.reads(watched, "the run that it left half done", says("2 replicas; "+killed+" is lost, silent for"), says("Unfinished: a run of import"))
	left.wait("a page whose replica is away says so", says("This page is from")+` && `+says("cannot be reached"))
}

// reads waits until the overview, which is open, says what is true of it, and notes
// how long that took.
func (c *trouble) reads(b *tab, what string, expressions ...string) {
	c.t.Helper()
	since := time.Now()
	for _, one := range expressions {
		b.wait(what, one)
	}
	c.rows = append(c.rows, fmt.Sprintf("| %-35s | %4.1f |", what, time.Since(since).Seconds()))
	if bad := b.noticed(); len(bad) > 0 {
		c.t.Errorf("%s: %v", what, bad)
	}
}

// isAway is the expression that the overview says of a replica that it is silent, or
// lost: the one for a few seconds only, before the other.
func isAway(replica string) string {
	return "(" + says(replica+" has been silent for") + " || " + says(replica+" is lost") + ")"
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
	return b.runner(job)
}
