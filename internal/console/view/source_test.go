package view_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/singletest"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/schedule"
)

// A tenants is a scheduler.Source whose jobs change.
type tenants struct {
	mu   sync.Mutex
	list map[string]string // schedules by name
}

func (s *tenants) set(name, spec string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list[name] = spec
}

func (s *tenants) Jobs(context.Context) ([]jobs.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []jobs.Job
	for _, name := range slices.Sorted(maps.Keys(s.list)) {
		at, err := schedule.Parse(s.list[name], schedule.Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, jobs.Job{Name: name, Schedule: at, Handler: func(context.Context, jobs.Run) error { return nil }, Spec: s.list[name]})
	}
	return list, nil
}

// With a Source, jobs are published under the hash of a set that has changed since. Listings show
// the versions that replicas serve all the same, at once.
func TestVersionsOfASource(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := singletest.New(t)
		reader := view.ControlOf(c)
		serve := func(id string, from *tenants) (stop func()) {
			s, err := scheduler.New(scheduler.Config{
				Replica: id, Stores: store.ForScheduler(c), Source: from, TTL: time.Second, SourceEvery: time.Second,
			}, nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- s.Run(ctx) }()
			return func() {
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		want := func(when string, want ...string) {
			t.Helper()
			page, err := reader.Jobs(t.Context(), view.JobQuery{Text: "report"})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range page.Items {
				got = append(got, fmt.Sprintf("%s live %t drift %t next %s", *r.Schedule, r.Live, r.Drift, *r.Next))
			}
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("%s the listing has %q, want %q", when, got, want)
			}
		}
		old := &tenants{list: map[string]string{"report": "0 1 * * *"}}
		stopA := serve("a", old)
		time.Sleep(10 * time.Second)
		old.set("tenant-1", "0 3 * * *") // the set of a changes, and report does not
		time.Sleep(10 * time.Second)
		want("before the roll-out", "0 1 * * * live true drift false next 2000-01-01T01:00:00Z")

		fresh := &tenants{list: map[string]string{"report": "0 2 * * *"}}
		stopB := serve("b", fresh)
		time.Sleep(10 * time.Second)
		fresh.set("tenant-1", "0 3 * * *")
		time.Sleep(10 * time.Second)
		want("during the roll-out", "0 1 * * * live true drift true next 2000-01-01T01:00:00Z", "0 2 * * * live true drift true next 2000-01-01T02:00:00Z")
		stopA()
		time.Sleep(10 * time.Second)
		want("after the roll-out", "0 2 * * * live true drift false next 2000-01-01T02:00:00Z")
		fresh.set("report", "0 1 * * *") // back
		time.Sleep(10 * time.Second)
		want("after the way back", "0 1 * * * live true drift false next 2000-01-01T01:00:00Z")
		stopB()
		want("after the last one", "0 1 * * * live false drift false next 2000-01-01T01:00:00Z")
	})
}
