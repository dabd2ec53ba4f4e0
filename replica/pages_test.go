package replica

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/scripts"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

var pagesFlag = flag.String("pages", "", "measure pages with 1,000 jobs and 100,000 records, and write the table into this page")

// A pageCost is the most that one page may cost with 300 jobs. What is bounded does
// not depend on how busy the machine is.
type pageCost struct {
	path  string
	calls int64 // of one node, by chunks of jobs
	kB    int64 // read from all nodes
}

// pageCosts lists the pages, and what each may cost.
func pageCosts() []pageCost {
	return []pageCost{
		{"/", 12, 300},
		{"/?range=24h", 12, 300},
		{"/jobs", 9, 250},
		{"/jobs?q=0042", 9, 200},
		{"/jobs/job-0042", 5, 110},
		{"/ticks", 5, 150},
		{"/ticks?outcome=failed", 12, 850},
		{"/ticks?job=job-0042", 2, 90},
		{"/locks", 12, 550},
		{"/replicas", 3, 5},
		{"/nodes", 3, 40},
		{"/configuration", 2, 5},
		{"/audit", 1, 5},
		{"/api/v1/jobs", 4, 450},
		{"/api/v1/ticks", 5, 230},
		{"/api/v1/runs", 5, 230},
		{"/api/v1/next", 1, 5},
	}
}

// TestPagesAreBounded: what a page asks of the nodes, and the memory that it takes, do
// not depend on how long the history is. With -pages FILE it measures pages at full
// size instead.
func TestPagesAreBounded(t *testing.T) {
	if *pagesFlag != "" {
		measurePages(t, *pagesFlag)
		return
	}
	const jobs = 300
	var short map[string]pageUse
	for _, entries := range []int{60, 120} {
		c := newCrowd(t, jobs, entries)
		uses := map[string]pageUse{}
		for _, page := range pageCosts() {
			c.visit(t, page.path) // connects, and fills what is kept
			u := c.least(t, page.path)
			uses[page.path] = u
			if u.calls > 5*page.calls || u.read > page.kB<<10 {
				t.Errorf("%d records of each of %d jobs: %s took %d calls and read %d kB, at most %d and %d were to be", entries, jobs, page.path, u.calls, u.read>>10, 5*page.calls, page.kB)
			}
			was, ok := short[page.path]
			// On a busy machine each visit may have to read the directory, with two calls of each node.
			if ok && (u.calls > was.calls+15 || u.read > was.read+was.read/2+20_000 || u.bytes > was.bytes+was.bytes/2+200_000) {
				t.Errorf("%s took %d calls, %d bytes from the nodes and %d of memory with %d records of each job; %d, %d and %d with few",
					page.path, u.calls, u.read, u.bytes, entries, was.calls, was.read, was.bytes)
			}
		}
		short = uses
	}
}

// least is what the least of some visits uses: the jobs may have to be read anew, and the first visits to pages of
// many jobs read on in the history.
func (c *crowd) least(t *testing.T, path string) pageUse {
	t.Helper()
	u, more := c.visit(t, path), 1
	if path, _, _ := strings.Cut(path, "?"); path == "/" || path == "/jobs" {
		more = 5
	}
	for range more {
		v := c.visit(t, path)
		u.calls, u.read, u.bytes = min(u.calls, v.calls), min(u.read, v.read), min(u.bytes, v.bytes)
	}
	return u
}

// measurePages writes a table of the costs into a page.
func measurePages(t *testing.T, file string) {
	t.Helper()
	const rounds = 21
	c := newCrowd(t, 1000, 100)
	var table strings.Builder
	table.WriteString("| page | ms, median | of the first after 2 s | MB allocated | calls of all 5 nodes | kB read from them | longest call, ms |\n|---|---|---|---|---|---|---|\n")
	for _, page := range pageCosts() {
		c.visit(t, page.path)
		c.resetSlowLog(t)
		var first, again []time.Duration
		var u pageUse
		for range rounds {
			c.kept.Drop()
			first = append(first, c.visit(t, page.path).took)
			u = c.visit(t, page.path)
			again = append(again, u.took)
		}
		fmt.Fprintf(&table, "| `%s` | %.0f | %.0f | %.1f | %d | %d | %.1f |\n", page.path, median(again), median(first),
			float64(u.bytes)/1e6, u.calls, u.read/1000, c.slowest(t).Seconds()*1e3)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)(<!-- pages:table -->\n).*?(<!-- /pages:table -->)`)
	if !block.Match(text) {
		t.Fatalf("%s has no block pages:table", file)
	}
	text = block.ReplaceAll(text, []byte("${1}\n"+table.String()+"\n${2}"))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + table.String())
}

// median is in milliseconds.
func median(list []time.Duration) float64 {
	slices.Sort(list)
	return list[len(list)/2].Seconds() * 1e3
}

// A host is shown by a dashboard.
type host view.Host

func (h host) Shown() view.Host { return view.Host(h) }

// A crowd is a cluster of five nodes with many jobs, and a server of its pages.
type crowd struct {
	*quorum.Cluster
	web     *dashboard.Handler
	servers []*redistest.Server
	traffic traffic
	kept    *view.DirectoryCache
}

// A pageUse is what one visit has used.
type pageUse struct {
	took  time.Duration
	calls int64  // of all nodes
	read  int64  // bytes
	bytes uint64 // allocated
}

func (c *crowd) visit(t *testing.T, path string) pageUse {
	t.Helper()
	c.beat(t)
	var before, after runtime.MemStats
	calls, read := c.traffic.calls.Load(), c.traffic.read.Load()
	runtime.ReadMemStats(&before)
	began := time.Now()
	rec := httptest.NewRecorder()
	c.web.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	if body := rec.Body.String(); rec.Code != http.StatusOK || strings.Contains(body, "no quorum") {
		t.Fatalf("%s: %d %s", path, rec.Code, body)
	}
	return pageUse{took, c.traffic.calls.Load() - calls, c.traffic.read.Load() - read, after.TotalAlloc - before.TotalAlloc}
}

// newCrowd has so many jobs, and so many records of each: every tenth tick was
// skipped, and the runs of some jobs failed.
func newCrowd(t *testing.T, jobs, entries int) *crowd {
	t.Helper()
	c := &crowd{servers: redistest.StartN(t, 5), kept: &view.DirectoryCache{For: 2 * time.Second}}
	nodes, err := config.ReadCluster(config.Source{Environ: []string{}, Path: write(t, fmt.Sprintf("redis: {nodes: [%s], node_timeout: 2s}\n", strings.Join(redistest.URLs(c.servers), ", ")))})
	if err != nil {
		t.Fatal(err)
	}
	nodes.Redis.Dial = c.traffic.dial
	if c.Cluster, err = quorum.Open(nodes.Redis, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	declareNew(t, c.Set)
	if err := c.Join(t.Context()); err != nil { // as the replica that serves the pages has
		t.Fatal(err)
	}
	// No tick is so new that a page reads it again, which would depend on the second of the minute.
	now := time.Now().Truncate(time.Minute).Add(-5 * time.Minute)
	c.publish(t, jobs, now)
	for _, s := range c.servers {
		pipe := s.Client().Pipeline()
		for j := range jobs {
			for n := range entries {
				tick := now.Add(time.Duration(-n) * 5 * time.Minute)
				pipe.ZAdd(t.Context(), c.Set.JobKey(jobNumber(j), "runs"), redisZ(tick, record(j, n, tick)))
			}
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	control := view.ControlOf(c)
	control.Cache = c.kept
	c.web, err = dashboard.Mount(host{Control: control, Settings: func() (any, func(...string) string) { return "none", nil }},
		dashboard.Config{HTTP: settings.HTTP{Anonymous: identity.AnonymousAll}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.web.Close)
	return c
}

func (c *crowd) publish(t *testing.T, jobs int, now time.Time) {
	t.Helper()
	var infos []roster.JobInfo
	for j := range jobs {
		infos = append(infos, roster.JobInfo{
			Name: jobNumber(j), Func: "report", Schedule: "*/5 * * * *", Timezone: "UTC", Published: now, Replica: "a",
			Description: "Sends one of many reports", Tags: []string{"finance"}, ConfigHash: "c",
		})
	}
	if err := c.Ledger.Publish(t.Context(), infos); err != nil {
		t.Fatal(err)
	}
}

// beat keeps the replica that serves the jobs alive.
func (c *crowd) beat(t *testing.T) {
	t.Helper()
	if _, err := c.Ledger.Beat(t.Context(), roster.Replica{ID: "a", State: roster.StateReady, ConfigHash: "c"}); err != nil {
		t.Fatal(err)
	}
}

func jobNumber(j int) string { return fmt.Sprintf("job-%04d", j) }

// record is the n-th last of a job.
func record(j, n int, tick time.Time) scripts.Record {
	e := ledger.Entry{Tick: tick, Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Succeeded, Started: tick, Finished: tick.Add(time.Second), Calls: 1}
	r := scripts.Record{Kind: scripts.Finished, Stream: locking.StreamSchedule, Tick: tick, Token: uint64(tick.UnixMilli()), Attempt: 1, Owner: fmt.Sprint(j, n)}
	switch {
	case n%10 == 9:
		e = ledger.Entry{Tick: tick, Trigger: ledger.BySchedule, Outcome: ledger.Skipped, Reason: ledger.TextReason("overlap: an earlier run goes on"), Replica: "a"}
		r = scripts.Record{Kind: scripts.NotRun, Stream: locking.StreamSchedule, Tick: tick}
	case j%100 == 7:
		e.Outcome, e.Error = ledger.Failed, "no such customer"
	}
	r.Note = ledger.EncodeNote(e)
	return r
}

// resetSlowLog lets the servers note every command that takes a while.
func (c *crowd) resetSlowLog(t *testing.T) {
	t.Helper()
	for _, s := range c.servers {
		client := s.Client()
		err := client.ConfigSet(t.Context(), "slowlog-log-slower-than", "100").Err()
		if err == nil {
			err = client.Do(t.Context(), "SLOWLOG", "RESET").Err()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// slowest is how long the longest command took since.
func (c *crowd) slowest(t *testing.T) time.Duration {
	t.Helper()
	var longest time.Duration
	for _, s := range c.servers {
		list, err := s.Client().SlowLogGet(context.WithoutCancel(t.Context()), 128).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range list {
			longest = max(longest, one.Duration)
		}
	}
	return longest
}
