package scheduler_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedule"
)

// manyJobs is the number of jobs that one replica must handle.
const manyJobs = 100_000

// granting is a Locker that grants everything at once.
type granting struct{ tokens atomic.Uint64 }

func (g *granting) TryAcquire(_ context.Context, req locking.Request) (locking.Lease, error) {
	now := time.Now()
	return &granted{claim: locking.Claim{
		Name: req.Name, Tick: req.Tick, Stream: req.Stream, Beside: req.Beside,
		Token: locking.Token(g.tokens.Add(1)), Attempt: 1, Votes: locking.Votes{For: 1, Of: 1}, Granted: now,
	}, ttl: req.TTL, until: now.Add(req.TTL)}, nil
}

type granted struct {
	claim locking.Claim
	ttl   time.Duration
	until time.Time
}

func (l *granted) Claim() locking.Claim                   { return l.claim }
func (l *granted) Deadline() time.Time                    { return l.until }
func (l *granted) Extend(context.Context) error           { return nil }
func (l *granted) Release(context.Context, []byte) error  { return nil }
func (l *granted) HandOver(context.Context, []byte) error { return nil }
func (l *granted) Void(context.Context) error             { return nil }

// forgetful is a Ledger and a Roster that stores nothing.
type forgetful struct{}

func (forgetful) Record(context.Context, ledger.Entry) (bool, error) { return true, nil }

func (forgetful) Runs(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

func (forgetful) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, nil }

func (forgetful) Beat(_ context.Context, self roster.Replica) ([]roster.Replica, error) {
	return []roster.Replica{self}, nil
}

func (forgetful) Leave(context.Context, roster.Replica) error        { return nil }
func (forgetful) Replicas(context.Context) ([]roster.Replica, error) { return nil, nil }
func (forgetful) Publish(context.Context, []roster.JobInfo) error    { return nil }
func (forgetful) Unpublish(context.Context, []roster.JobInfo) error  { return nil }
func (forgetful) Jobs(context.Context) ([]roster.JobInfo, error)     { return nil, nil }

// manyOf returns n jobs as a configuration has them.
func manyOf(tb testing.TB, n int, spec string, handler jobs.Handler) []jobs.Job {
	tb.Helper()
	list := make([]jobs.Job, n)
	for i := range list {
		name := fmt.Sprintf("customer-%06d.report", i)
		schedule, err := schedule.Parse(spec, schedule.Options{Name: name})
		if err != nil {
			tb.Fatal(err)
		}
		list[i] = jobs.Job{
			Name: name, Schedule: schedule, Handler: handler, Tags: []string{"finance", "nightly"},
			Spec: spec, Timezone: "UTC", Func: "report", Description: "Sends the report of customer " + strconv.Itoa(i),
			Timeout: time.Hour, CatchUp: jobs.CatchUp{Mode: jobs.CatchUpLast, Window: 6 * time.Hour},
			Retry: jobs.Retry{Attempts: 3, Backoff: 2 * time.Second},
		}
	}
	return list
}

// running starts a replica with the jobs, which is stopped at the end of tb.
func running(tb testing.TB, peers roster.Roster, list []jobs.Job) *scheduler.Scheduler {
	tb.Helper()
	s, err := scheduler.New(scheduler.Config{Replica: "a", Stores: scheduler.Stores{Locker: new(granting), Ledger: forgetful{}, Roster: peers}}, list)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			tb.Error(err)
		}
	})
	return s
}

func heapBytes() uint64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkIdleJob measures the memory of a job that waits for its tick: B/job of the
// scheduler, without the job's definition.
func BenchmarkIdleJob(b *testing.B) {
	for _, n := range []int{10_000, manyJobs} {
		for name, peers := range map[string]roster.Roster{"alone": nil, "roster": forgetful{}} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					empty := heapBytes()
					list := manyOf(b, n, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })
					listed := heapBytes()
					s := running(b, peers, list)
					time.Sleep(12 * time.Second) // until all pasts are read, and all is published
					all := heapBytes()
					b.ReportMetric(float64(listed-empty)/float64(n), "list-B/job")
					b.ReportMetric(float64(all-listed)/float64(n), "B/job")
					runtime.KeepAlive(list)
					runtime.KeepAlive(s)
				}
			})
		}
	}
}

// cpu is the processor time of the process.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// measureFires reports the cost of a fire while count counts n fires a second.
func measureFires(b *testing.B, n int, count *atomic.Int64) {
	b.Helper()
	second := func() {
		time.Sleep(time.Until(time.Now().Truncate(time.Second).Add(990 * time.Millisecond)))
		if time.Now().Nanosecond() > 995e6 {
			b.Log("late")
		}
	}
	time.Sleep(2500 * time.Millisecond)
	second()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fires, used, seconds := count.Load(), cpu(b), int64(0)
	for b.Loop() {
		time.Sleep(20 * time.Millisecond)
		second()
		seconds++
	}
	fires, used = count.Load()-fires, cpu(b)-used
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(used.Nanoseconds())/float64(fires), "cpu-ns/fire")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(fires), "allocs/fire")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/float64(fires), "B/fire")
	b.ReportMetric(float64(seconds*int64(n)-fires), "lost")
}

// BenchmarkFires compares the cost of a fire with robfig/cron's, for n due jobs each
// second. Run it with -benchtime 5x: five seconds.
func BenchmarkFires(b *testing.B) {
	for _, n := range []int{10_000, manyJobs} {
		b.Run(fmt.Sprintf("quorate/%d", n), func(b *testing.B) {
			var count atomic.Int64
			handler := func(context.Context, jobs.Run) error {
				count.Add(1)
				return nil
			}
			list := make([]jobs.Job, n)
			for i := range list {
				list[i] = jobs.Job{
					Name: "job-" + strconv.Itoa(i), Schedule: schedule.Every{Interval: time.Second}, Handler: handler,
				}
			}
			running(b, nil, list)
			measureFires(b, n, &count)
		})
		b.Run(fmt.Sprintf("robfig/%d", n), func(b *testing.B) {
			var count atomic.Int64
			c := cron.New()
			for range n {
				if _, err := c.AddFunc("@every 1s", func() { count.Add(1) }); err != nil {
					b.Fatal(err)
				}
			}
			c.Start()
			defer func() { <-c.Stop().Done() }()
			measureFires(b, n, &count)
		})
	}
}

// BenchmarkUpdate measures updates of a running replica, and the longest time that its loop
// was busy meanwhile.
func BenchmarkUpdate(b *testing.B) {
	list := manyOf(b, manyJobs, "H 2 * * *", func(context.Context, jobs.Run) error { return nil })
	changed := slices.Clone(list)
	for i := 0; i < len(changed); i += 100 {
		changed[i].Description += " again"
	}
	for b.Loop() {
		s := running(b, forgetful{}, nil)
		for _, step := range []struct {
			name string
			list []jobs.Job
		}{{"add", list}, {"nothing", list}, {"change 1 %", changed}, {"remove half", changed[:manyJobs/2]}} {
			stop, blind := make(chan struct{}), make(chan time.Duration)
			go func() {
				longest := time.Duration(0)
				for {
					select {
					case <-stop:
						blind <- longest
						return
					default:
						begun := time.Now()
						s.Beat()
						longest = max(longest, time.Since(begun))
						time.Sleep(100 * time.Microsecond)
					}
				}
			}()
			begun := time.Now()
			if _, err := s.Update(step.list); err != nil {
				b.Fatal(err)
			}
			took := time.Since(begun)
			close(stop)
			b.Logf("%s: %v, loop busy for at most %v", step.name, took.Round(time.Millisecond), (<-blind).Round(time.Microsecond))
		}
	}
}
