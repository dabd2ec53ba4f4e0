package ledger

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A meter counts the calls to a store, and the records in the answers.
type meter struct {
	kv.Store
	mu          sync.Mutex
	calls, rows int
}

func (m *meter) count(rows int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	m.rows += rows
}

func (m *meter) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	m.count(len(keys))
	return m.Store.Read(ctx, keys...)
}

func (m *meter) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	lists, s, err := m.Store.List(ctx, ranges...)
	rows := 0
	for _, list := range lists {
		rows += len(list)
	}
	m.count(rows)
	return lists, s, err
}

func (m *meter) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	m.count(0)
	return m.Store.Commit(ctx, t)
}

// measure returns what do costs.
func (m *meter) measure(do func()) (calls, rows int) {
	m.calls, m.rows = 0, 0
	do()
	return m.calls, m.rows
}

// fill stores the entries of ended runs.
func fill(t *testing.T, s kv.Store, list, runs int) {
	t.Helper()
	for j := range list {
		var put []kv.Write
		for n := range runs {
			e := records.Entry{
				Kind: records.Finished, Stream: locking.StreamSchedule, Tick: tick(n).UnixMilli(), Token: uint64(n + 1),
				Note: ledger.EncodeNote(finished("", n)),
			}
			put = append(put, records.Put(records.EntryKey(fmt.Sprint("job-", j), e), e))
		}
		commit(t, s, kv.Txn{Put: put})
	}
}

// The cost of a page and of a listing depends on their limits, not on what is stored.
func TestReadsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, readsAreBounded) // where no call takes time
}

func readsAreBounded(t *testing.T) {
	const jobs, runs = 60, 1000
	memory := &kvtest.Memory{}
	fill(t, memory, jobs, runs)
	m := &meter{Store: memory}
	l := New(m, time.Minute)
	for _, c := range []struct {
		name               string
		q                  ledger.Query
		found, calls, rows int
	}{
		{"a page", ledger.Query{Limit: 20}, 20, 1, 40},
		{"the last page", ledger.Query{Limit: 20, Before: tick(5)}, 5, 1, 10},
		{"since", ledger.Query{Limit: 400, Since: tick(runs - 10)}, 10, 1, 520},
		{"all", ledger.Query{Limit: runs}, runs, 3, runs + 20},
		{"nothing by a filter", ledger.Query{Limit: 10, Outcomes: []ledger.Outcome{ledger.Failed}}, 0, 8, runs + 20},
	} {
		c.q.Job = "job-7"
		calls, rows := m.measure(func() {
			if list, err := l.Ticks(t.Context(), c.q); err != nil || len(list) != c.found {
				t.Errorf("%s: %d entries, %v, want %d", c.name, len(list), err, c.found)
			}
		})
		if calls > c.calls || rows > c.rows {
			t.Errorf("%s: %d calls and %d records, want at most %d and %d", c.name, calls, rows, c.calls, c.rows)
		}
	}
	calls, rows := m.measure(func() {
		var stretches []ledger.Stretch
		for j := range jobs {
			stretches = append(stretches, ledger.Stretch{Job: fmt.Sprint("job-", j), Limit: 5})
		}
		if list, err := l.Skim(t.Context(), stretches, true); err != nil || len(list[jobs-1].Entries) != 5 || !list[0].Rest.Equal(tick(runs-6)) {
			t.Errorf("Skim = %+v, %v", list, err)
		}
	})
	if calls != 1 || rows > 6*jobs+1 {
		t.Errorf("skimming %d jobs: %d calls and %d records, want one call and 6 records for each", jobs, calls, rows)
	}
}

// A job that never ends keeps about as many entries as it may, and each costs a few records
// to read. Replicas start again and again.
func TestKeptEntriesAreBounded(t *testing.T) {
	t.Parallel()
	memory, _ := fresh(t)
	m := &meter{Store: memory}
	const ticks, restart = 1200, 7
	var l *Ledger
	stored := 0
	_, rows := m.measure(func() {
		for n := range ticks {
			if n%restart == 0 {
				l = New(m, time.Minute)
				l.keep = smallKeep
			}
			if _, err := l.Record(t.Context(), skipped("job", n, "busy")); err != nil {
				t.Fatal(err)
			}
			lists, _, err := memory.List(t.Context(), kv.Of(kv.Entries, "job"))
			if err != nil {
				t.Fatal(err)
			}
			stored = max(stored, len(lists[0]))
		}
	})
	if stored > 3*smallKeep || rows > 40*ticks {
		t.Errorf("%d entries were stored, want about %d; each read %d records, want about 12", stored, smallKeep, rows/ticks)
	}
}

// Many old entries are dropped in several transactions.
func TestTrimInSeveralTransactions(t *testing.T) {
	t.Parallel()
	memory := &kvtest.Memory{}
	fill(t, memory, 1, 700)
	memory.Bounds = kv.Limits{Keys: 100, Bytes: 512 << 10}
	l := New(memory, time.Minute)
	if err := l.Store(t.Context(), "job-0", jobs.History{Keep: 5}); err != nil {
		t.Fatal(err)
	}
	list, err := l.Ticks(t.Context(), ledger.Query{Job: "job-0", Limit: 1000})
	if err != nil || len(list) != 5 || !list[0].Tick.Equal(tick(699)) {
		t.Errorf("%d entries are left, %v, want the newest 5", len(list), err)
	}
	some, err := l.Skim(t.Context(), []ledger.Stretch{{Job: "job-0"}}, true)
	if err != nil || !some[0].Trimmed.Equal(tick(694)) {
		t.Errorf("trimmed up to %v, %v, want %v", some[0].Trimmed, err, tick(694))
	}
}

// Runs without logs and without a history are bounded by Trim.
func TestTrimBoundsRuns(t *testing.T) {
	t.Parallel()
	memory := &kvtest.Memory{}
	fill(t, memory, 1, jobs.MaxKeep+100)
	l := New(memory, time.Minute)
	if err := l.Trim(t.Context(), "job-0"); err != nil {
		t.Fatal(err)
	}
	if list, err := l.Runs(t.Context(), ledger.Query{Job: "job-0", Limit: 2 * jobs.MaxKeep}); err != nil || len(list) != jobs.MaxKeep {
		t.Errorf("%d runs are left, %v, want %d", len(list), err, jobs.MaxKeep)
	}
}

// Twenty idle replicas ask little of the store: heartbeats, and renewals of what they publish.
func TestIdleReplicasAskLittle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		memory, _ := fresh(t)
		m := &meter{Store: memory}
		const replicas, minutes = 20, 10
		var running sync.WaitGroup
		for i := range replicas {
			running.Go(func() {
				r := NewRoster(m)
				for n := range minutes * 12 {
					list, err := r.Beat(t.Context(), roster.Replica{ID: fmt.Sprint(i)})
					if err != nil || n > 0 && len(list) != replicas {
						t.Errorf("Beat = %d replicas, %v", len(list), err)
					}
					if n%60 == 0 {
						if err := r.Publish(t.Context(), []roster.JobInfo{{Name: "job", Hash: "1", Replica: fmt.Sprint(i)}}); err != nil {
							t.Error(err)
						}
					}
					time.Sleep(5 * time.Second)
				}
			})
		}
		running.Wait()
		if rate := float64(m.calls) / (minutes * 60); rate > 9 {
			t.Errorf("%.1f calls a second, want about 8", rate)
		}
	})
}
