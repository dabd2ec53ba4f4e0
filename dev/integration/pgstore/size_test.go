package pgstore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A load runs ticks of a constant number of jobs. A VACUUM comes after so many ticks, rather
// than when the server finds the time, so that runs compare.
type load struct {
	t       *testing.T
	c       *single.Cluster
	admin   *pgx.Conn
	schema  string
	tick    time.Time
	history jobs.History
}

// A size is that of the table and its index, and what updates did.
type size struct{ bytes, dead, updates, hot int }

func (s size) String() string {
	return fmt.Sprintf("%d kB, %d dead rows, %d of %d updates left the index as it is", s.bytes/1024, s.dead, s.hot, s.updates)
}

// since is the size with what was updated after an earlier one.
func (s size) since(was size) size {
	return size{s.bytes, s.dead, s.updates - was.updates, s.hot - was.hot}
}

// newLoad starts a server whose ledger keeps so many runs of a job.
func newLoad(t *testing.T, keep int) *load {
	t.Helper()
	w := &world{Server: pgtest.Start(t, "autovacuum=off")}
	w.exec(t, `CREATE ROLE replica`)
	l := &load{t: t, schema: w.migrated(t), admin: connect(t, w.URL()), history: jobs.History{Keep: keep}}
	l.tick = time.Now().UTC().Truncate(time.Second).Add(-30 * 24 * time.Hour)                // none may be in the future
	s := open(t, postgres.Config{URL: w.URL(), Schema: l.schema, Timeout: 30 * time.Second}) // nothing is down
	if err := claims.DeclareNew(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.c, err = single.Open(s, claims.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.c.Close() })
	return l
}

// run runs so many ticks of each of ten jobs, and returns the size.
func (l *load) run(ticks int) size {
	l.t.Helper()
	for n := range ticks {
		l.tick = l.tick.Add(time.Second)
		for j := range 10 {
			if err := l.once(l.t.Context(), fmt.Sprint("job-", j)); err != nil {
				l.t.Fatal(err)
			}
		}
		if n%10 == 9 {
			l.exec(`VACUUM ` + pgx.Identifier{l.schema, "records"}.Sanitize())
		}
	}
	return l.size()
}

// once claims, extends and ends one run, and stores its log, which trims the job's past.
func (l *load) once(ctx context.Context, job string) error {
	note := ledger.EncodeNote(ledger.Entry{Job: job, Tick: l.tick, Trigger: ledger.BySchedule, Replica: "a", Outcome: ledger.Running, Started: l.tick})
	lease, err := l.c.Claims.TryAcquire(ctx, locking.Request{Name: job, Tick: l.tick, TTL: 15 * time.Second, Holder: "a", Note: note})
	if err != nil {
		return err
	}
	for range 3 {
		if err := lease.Extend(ctx); err != nil {
			return err
		}
	}
	if err := lease.Release(ctx, note); err != nil {
		return err
	}
	return l.c.Ledger.Store(ctx, job, l.history, ledger.Log{Job: job, Tick: l.tick, Token: lease.Claim().Token, At: l.tick, Text: "done"})
}

func (l *load) exec(sql string) {
	l.t.Helper()
	if _, err := l.admin.Exec(l.t.Context(), sql); err != nil {
		l.t.Fatalf("%s: %v", sql, err)
	}
}

func (l *load) size() (s size) {
	l.t.Helper()
	time.Sleep(1100 * time.Millisecond) // sessions report their counters late: the last ones may be missing
	l.exec(`VACUUM ` + pgx.Identifier{l.schema, "records"}.Sanitize())
	err := l.admin.QueryRow(l.t.Context(), `SELECT pg_total_relation_size(relid), n_dead_tup, n_tup_upd, n_tup_hot_upd
		FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'records'`, l.schema).Scan(&s.bytes, &s.dead, &s.updates, &s.hot)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

// TestSizeStaysBounded runs ten times as many ticks: the table and its index stay as large,
// and updates leave the index as it is. While another transaction stays open, the table
// grows; then it is used again.
func TestSizeStaysBounded(t *testing.T) {
	t.Parallel()
	n := 100
	if testing.Short() {
		n = 20
	}
	l := newLoad(t, n/2)
	first := l.run(n)
	last := l.run(9 * n)
	t.Logf("after %d ticks: %v", 10*n, first)
	t.Logf("after %d ticks: %v", 100*n, last)
	if 2*last.bytes > 3*first.bytes {
		t.Errorf("%v after ten times as many ticks, %v before", last, first)
	}
	if done := last.since(first); done.updates < 10*n || 10*done.hot < 9*done.updates {
		t.Errorf("%v, want nine of ten, of %d at least", done, 10*n)
	}

	reader := connect(t, l.admin.Config().ConnString())
	if _, err := reader.Exec(t.Context(), `BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1`); err != nil {
		t.Fatal(err)
	}
	open := l.run(2 * n)
	if _, err := reader.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	after := l.run(2 * n)
	t.Logf("another transaction open for %d ticks: %v", 20*n, open.since(last))
	t.Logf("after it, %d ticks: %v", 20*n, after.since(open))
	if open.bytes <= last.bytes || open.dead < n {
		t.Errorf("an open transaction left %v, before it %v", open, last)
	}
	if after.bytes > open.bytes+open.bytes/10 || after.dead > n {
		t.Errorf("after an open transaction %v, with it %v", after, open)
	}
}
