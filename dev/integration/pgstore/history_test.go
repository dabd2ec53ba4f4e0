package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/dev/testkit/length"
	"github.com/quorate/quorate/dev/testkit/pgtest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A use is what one request took of the server. It does not depend on how busy the machine is.
type use struct {
	statements int64
	rows       int64 // that were fetched
	blocks     int64 // of the table and its index, from memory or disk
}

func (u use) String() string {
	return fmt.Sprintf("%d statements, %d rows, %d blocks", u.statements, u.rows, u.blocks)
}

// grown reports whether u is more than was, apart from what the height of the index adds.
func (u use) grown(was use) bool {
	return u.statements > was.statements+2 || u.rows > was.rows+was.rows/4+50 || u.blocks > was.blocks*2+50
}

// A requested is something that people ask for.
type requested struct {
	name string
	// ofOne: it is about one job, so it does not depend on how many there are.
	ofOne bool
	// ofAll: it reads all that is kept of the job.
	ofAll bool
	do    func(ctx context.Context) error
}

// history: pages, listings and views cost as much with a long history as with a short one,
// and those of one job as much with many jobs as with few.
func history(t *testing.T, w *world) {
	few, many, long := newPast(t, w, 40, 60), newPast(t, w, 160, 60), newPast(t, w, 40, 240)
	compareHistories(t, few, many, long)
}

// TestHistoryAtSize compares at full size: 1,000 jobs with 1,000 entries each.
func TestHistoryAtSize(t *testing.T) {
	if !length.Whole() {
		t.Skip("it stores a million entries: make history")
	}
	w := &world{Server: pgtest.Start(t)}
	w.exec(t, `CREATE ROLE replica`)
	compareHistories(t, newPast(t, w, 100, 1000), newPast(t, w, 1000, 1000), nil)
	compareHistories(t, newPast(t, w, 1000, 100), nil, newPast(t, w, 1000, 1000))
}

// compareHistories compares a past with one of more jobs and one of more entries each.
func compareHistories(t *testing.T, few, many, long *past) {
	t.Helper()
	cost := func(p *past) map[string]use {
		if p == nil {
			return nil
		}
		p.settle(t)
		uses := map[string]use{}
		for _, r := range p.requests() {
			uses[r.name] = p.measure(t, r)
		}
		return uses
	}
	base, ofMany, ofLong := cost(few), cost(many), cost(long)
	for _, r := range few.requests() {
		was := base[r.name]
		if u, ok := ofLong[r.name]; ok && !r.ofAll {
			t.Logf("%-32s %v; with a long history %v", r.name, was, u)
			if u.grown(was) {
				t.Errorf("%s took %v with a long history, %v with a short one", r.name, u, was)
			}
		}
		if u, ok := ofMany[r.name]; ok && r.ofOne {
			t.Logf("%-32s %v; with many jobs %v", r.name, was, u)
			if u.grown(was) {
				t.Errorf("%s took %v with many jobs, %v with few", r.name, u, was)
			}
		}
	}
}

// requests are what is measured.
func (p *past) requests() []requested {
	var list []requested
	for _, path := range []string{
		"/", "/?range=24h", "/jobs", "/ticks", "/ticks?outcome=failed", "/locks", "/replicas", "/configuration", "/audit",
		"/api/v1/jobs", "/api/v1/ticks", "/api/v1/runs", "/api/v1/next",
	} {
		list = append(list, requested{name: path, do: p.visit(path)})
	}
	for _, path := range []string{"/ticks?job=job-0007", "/jobs/job-0007"} {
		list = append(list, requested{name: path, do: p.visit(path)}) // they read which jobs there are
	}
	l, job := p.cluster.Ledger, "job-0007"
	query := func(q ledger.Query) func(context.Context) error {
		return func(ctx context.Context) error {
			list, err := l.Ticks(ctx, q)
			if err == nil && len(list) == 0 {
				err = errors.New("nothing was found")
			}
			return err
		}
	}
	list = append(list,
		requested{name: "a page", ofOne: true, do: query(ledger.Query{Job: job, Limit: 20})},
		requested{name: "the last page", ofOne: true, do: query(ledger.Query{Job: job, Limit: 20, Before: p.tick(p.entries - 6)})},
		requested{name: "since", ofOne: true, do: query(ledger.Query{Job: job, Limit: 50, Since: p.tick(10)})},
		requested{name: "skim", ofOne: true, do: p.skim(5)},
	)
	for name, text := range map[string]string{
		"view ticks, the last":  `SELECT * FROM S.ticks WHERE job = 'job-0007' ORDER BY tick DESC LIMIT 1`,
		"view ticks, of a time": `SELECT * FROM S.ticks WHERE job = 'job-0007' AND tick > now() - interval '1 day'`,
		"view runs, how many":   `SELECT count(*) FROM S.runs WHERE job = 'job-0007' AND outcome = 'failed'`,
	} {
		list = append(list, requested{name: name, ofOne: true, ofAll: true, do: func(ctx context.Context) error {
			_, err := p.pool.Exec(ctx, p.text(text))
			return err
		}})
	}
	return list
}
