package replica

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/web"
)

// BenchmarkPages measures pages of the API on five nodes with 1,000 jobs, each with
// 10 or 100 entries in its ledger: what a page costs should not depend on that.
//
//	go test -run '^$' -bench Pages -benchtime 20x ./scheduler/replica
func BenchmarkPages(b *testing.B) {
	const jobs = 1000
	for _, entries := range []int{10, 100} {
		c := crowded(b, jobs, entries)
		server, err := web.New(web.Config{Control: c.Control(), Nodes: c, Anonymous: web.AnonymousAll, Timeout: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(server.Close)
		for _, path := range []string{"/jobs?limit=100", "/ticks?limit=100", "/ticks?limit=100&outcome=missed", "/jobs/job-0500/ticks", "/replicas", "/nodes", "/locks", "/audit", "/next"} {
			b.Run(fmt.Sprintf("%d entries%s", jobs*entries, path), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					rec := httptest.NewRecorder()
					server.ServeHTTP(rec, httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v1"+path, nil))
					if rec.Code != http.StatusOK {
						b.Fatalf("%d %s", rec.Code, rec.Body)
					}
				}
			})
		}
	}
}

// crowded is a cluster of five nodes with so many jobs, and entries of each.
func crowded(b *testing.B, jobs, entries int) *Cluster {
	b.Helper()
	source := Source{Environ: []string{}, Path: write(b, fmt.Sprintf("redis: {nodes: [%s], node_timeout: 2s}\n", strings.Join(redistest.URLs(redistest.StartN(b, 5)), ", ")))}
	list, err := ReadCluster(source)
	if err != nil {
		b.Fatal(err)
	}
	c, err := OpenCluster(list)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	if err := c.Sets[0].Init(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	now := time.Now().Truncate(time.Minute)
	var infos []scheduler.JobInfo
	var wg sync.WaitGroup
	turns := make(chan struct{}, 64)
	for i := range jobs {
		name := fmt.Sprintf("job-%04d", i)
		infos = append(infos, scheduler.JobInfo{Name: name, Schedule: "*/5 * * * *", Timezone: "UTC", Published: now, Replica: "a", ConfigHash: "c"})
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			for n := range entries {
				e := scheduler.Entry{Job: name, Tick: now.Add(time.Duration(-n) * 5 * time.Minute), Trigger: scheduler.BySchedule, Outcome: scheduler.Skipped, Reason: "overlap: an earlier run goes on", Replica: "a"}
				if err := c.Ledger.Record(b.Context(), e); err != nil {
					b.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := c.Roster.Publish(b.Context(), infos); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Roster.Beat(b.Context(), scheduler.Replica{ID: "a", ConfigHash: "c", Started: now}); err != nil {
		b.Fatal(err)
	}
	return c
}
