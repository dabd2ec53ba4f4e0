package pgstore_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/postgres"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// A host is shown by a dashboard.
type host view.Host

func (h host) Shown() view.Host { return view.Host(h) }

// A past is a cluster with a history, whose connections are measured: one of the test, and one
// of the store.
type past struct {
	jobs, entries int // of each job
	now           time.Time
	schema        string
	pool          *pgxpool.Pool
	conns         []*pgx.Conn
	sent          atomic.Int64
	cluster       *single.Cluster
	web           *dashboard.Handler
	kept          *view.DirectoryCache
}

// TraceQueryStart implements [pgx.QueryTracer].
func (p *past) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	p.sent.Add(1)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (p *past) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// newPast stores so many jobs, and so many entries of each: every tenth tick was skipped, and
// the runs of some jobs failed.
func newPast(t *testing.T, w *world, jobs, entries int) *past {
	t.Helper()
	p := &past{jobs: jobs, entries: entries, now: time.Now().UTC().Truncate(time.Minute), schema: w.migrated(t), kept: &view.DirectoryCache{For: time.Hour}}
	cfg, err := pgxpool.ParseConfig(w.URL())
	if err != nil {
		t.Fatal(err)
	}
	cfg.MaxConns, cfg.ConnConfig.Tracer = 1, p
	cfg.AfterConnect = func(_ context.Context, c *pgx.Conn) error {
		p.conns = append(p.conns, c)
		return nil
	}
	if p.pool, err = pgxpool.NewWithConfig(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.pool.Close)
	s := open(t, postgres.Config{Pool: p.pool, Schema: p.schema})
	if err := claims.DeclareNew(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if p.cluster, err = single.Open(s, claims.Config{}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cluster.Close() })
	p.fill(t)
	control := view.ControlOf(p.cluster)
	control.Cache = p.kept
	p.web, err = dashboard.Mount(host{Control: control, Settings: func() (any, func(...string) string) { return "none", nil }},
		dashboard.Config{HTTP: settings.HTTP{Anonymous: identity.AnonymousAll}, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.web.Close)
	return p
}

func pastJob(j int) string { return fmt.Sprintf("job-%04d", j) }

// tick is the n-th last.
func (p *past) tick(n int) time.Time { return p.now.Add(time.Duration(-n) * 5 * time.Minute) }

func (p *past) text(sql string) string {
	return strings.ReplaceAll(sql, "S.", pgx.Identifier{p.schema}.Sanitize()+".")
}

func (p *past) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if _, err := p.pool.Exec(t.Context(), p.text(sql), args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// fill stores what the locks and the ledger would have stored.
func (p *past) fill(t *testing.T) {
	t.Helper()
	p.exec(t, `ALTER TABLE S.records SET (autovacuum_enabled = false)`) // it would be measured, too
	last := records.Claim{Stream: string(locking.StreamSchedule), Tick: p.now.UnixMilli(), Token: uint64(p.entries), Owner: "o", Attempt: 1, Ended: "OK"}
	const (
		insert = `INSERT INTO S.records (kind, name, sub, version, value) `
		all    = ` FROM (SELECT 'job-' || lpad((j - 1)::text, 4, '0') FROM generate_series(1, $1) j) job(name)`
		one    = insert + `SELECT $3, name, '', nextval('S.versions'), $2::json` + all
	)
	p.exec(t, one, p.jobs, encode(t, records.Claims{Fence: last.Token, Streams: map[string]records.Claim{last.Stream: last}}), "claim")
	p.exec(t, one, p.jobs, encode(t, records.Lease{Owner: "o", Token: last.Token, Until: p.now.UnixMilli()}), "lease")
	var subs, usual, failing []string
	for n := range p.entries {
		e := p.entry(n, ledger.Succeeded)
		subs = append(subs, records.EntryKey("", e).Sub)
		usual, failing = append(usual, string(encode(t, e))), append(failing, string(encode(t, p.entry(n, ledger.Failed))))
	}
	// In the order of time, so those of a job lie far apart.
	p.exec(t, insert+`SELECT 'entry', name, e.sub, nextval('S.versions'), (CASE WHEN name LIKE '%07' THEN e.failing ELSE e.usual END)::json`+
		all+`, unnest($2::text[], $3::text[], $4::text[]) e(sub, usual, failing) ORDER BY e.sub DESC, name`, p.jobs, subs, usual, failing)
	p.exec(t, `VACUUM ANALYZE S.records`)

	var infos []roster.JobInfo
	for j := range p.jobs {
		infos = append(infos, roster.JobInfo{
			Name: pastJob(j), Func: "report", Schedule: "*/5 * * * *", Timezone: "UTC", Published: p.now, Replica: "a",
			Description: "Sends one of many reports", Tags: []string{"finance"}, ConfigHash: "c",
		})
	}
	if err := p.cluster.Roster.Publish(t.Context(), infos); err != nil {
		t.Fatal(err)
	}
}

// entry is the n-th last of a job.
func (p *past) entry(n int, o ledger.Outcome) records.Entry {
	tick := p.tick(n)
	e := records.Entry{Kind: records.Finished, Stream: string(locking.StreamSchedule), Tick: tick.UnixMilli(), Token: uint64(p.entries - n), Attempt: 1, Owner: fmt.Sprint("o", n)}
	said := ledger.Entry{Tick: tick, Trigger: ledger.BySchedule, Replica: "a", Outcome: o, Started: tick, Finished: tick.Add(time.Second), Calls: 1}
	switch {
	case n%10 == 9:
		e = records.Entry{Kind: records.NotRun, Stream: e.Stream, Tick: e.Tick}
		said = ledger.Entry{Tick: tick, Trigger: ledger.BySchedule, Outcome: ledger.Skipped, Reason: ledger.Reason{Code: ledger.CodePaused}, Replica: "a"}
	case o == ledger.Failed:
		said.Error = "no such customer"
	}
	e.Note = ledger.EncodeNote(said)
	return e
}

func encode(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// measure returns what a request uses. What pages keep for a while is read anew.
func (p *past) measure(t *testing.T, r requested) use {
	t.Helper()
	if _, err := p.cluster.Roster.Beat(t.Context(), roster.Replica{ID: "a", State: roster.StateReady, ConfigHash: "c"}); err != nil {
		t.Fatal(err)
	}
	p.kept.Drop()
	before, sent := p.used(t), p.sent.Load()
	if err := r.do(t.Context()); err != nil {
		t.Fatalf("%s: %v", r.name, err)
	}
	statements := p.sent.Load() - sent
	after := p.used(t)
	return use{statements, after.rows - before.rows, after.blocks - before.blocks}
}

// used is what the connections, which are idle, have used so far.
func (p *past) used(t *testing.T) (u use) {
	t.Helper()
	for _, c := range p.conns {
		if _, err := c.Exec(t.Context(), `SELECT pg_stat_force_next_flush()`); err != nil {
			t.Fatal(err)
		}
	}
	err := p.pool.QueryRow(t.Context(), `SELECT s.seq_tup_read + s.idx_tup_fetch, io.heap_blks_read + io.heap_blks_hit + io.idx_blks_read + io.idx_blks_hit
		FROM pg_stat_user_tables s JOIN pg_statio_user_tables io USING (relid) WHERE s.schemaname = $1 AND s.relname = 'records'`, p.schema).Scan(&u.rows, &u.blocks)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// visit asks for a page.
func (p *past) visit(path string) func(context.Context) error {
	return func(ctx context.Context) error {
		rec := httptest.NewRecorder()
		p.web.ServeHTTP(rec, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
		if body := rec.Body.String(); rec.Code != http.StatusOK || strings.Contains(body, "does not answer") {
			return fmt.Errorf("%d %s", rec.Code, body)
		}
		return nil
	}
}

// settle visits the pages of all jobs until they have read the last seven days: each visit
// reads a bounded part of them, and later ones only what is new.
func (p *past) settle(t *testing.T) {
	t.Helper()
	for _, path := range []string{"/?range=7d", "/jobs?range=7d"} {
		for reads := true; reads; {
			rec := httptest.NewRecorder()
			p.web.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
			if rec.Code != http.StatusOK {
				t.Fatal(rec.Code, rec.Body)
			}
			reads = strings.Contains(rec.Body.String(), "Each view of this page reads on.")
		}
	}
}

// skim reads the newest entries of some jobs, as the start page does of all.
func (p *past) skim(limit int) func(context.Context) error {
	return func(ctx context.Context) error {
		var stretches []ledger.Stretch
		for j := range 40 {
			stretches = append(stretches, ledger.Stretch{Job: pastJob(j), Limit: limit})
		}
		list, err := p.cluster.Ledger.Skim(ctx, stretches, true)
		if err == nil && (len(list) != 40 || len(list[0].Entries) != limit) {
			err = fmt.Errorf("read %d jobs", len(list))
		}
		return err
	}
}
