package integration_test

import (
	"context"
	"database/sql"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/integration/sqltest"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking/fence/sqlfence"
)

// What the guarded job of docs/jobs.md takes from around it.
type (
	ReportParams struct {
		Customer string `json:"customer"`
	}
	fatal  struct{ *testing.T }
	binary struct{ Main func(*jobs.Registry) }
)

// TestGuardedJob runs the guarded job of docs/jobs.md on a database that has seen
// neither the guard nor the job.
func TestGuardedJob(t *testing.T) {
	t.Parallel()
	ctx, db, log := t.Context(), sqltest.Open(t, "sqlite", sqltest.SQLite(t)), fatal{t}
	build := func(p ReportParams, tick time.Time) string { return p.Customer + tick.Format(" 2006-01-02") }
	stored := ""
	store := func(_ *sql.Tx, report string) error {
		stored = report
		return nil
	}
	cmd := binary{func(registry *jobs.Registry) {
		report, err := registry.Bind("report", map[string]any{"customer": "all"}, jobs.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := report(ctx, jobs.Run{Job: "nightly-report", Tick: time.Unix(0, 0).UTC(), Token: 7}); err != nil {
			t.Error(err)
		}
	}}
	guardedJob := func() {
		// docs/jobs.md:
		if err := sqlfence.CreateTable(ctx, db); err != nil { // once; migrations take sqlfence.Schema
			log.Fatal(err)
		}
		registry := jobs.NewRegistry()
		jobs.Register(registry, "report", func(ctx context.Context, run jobs.Run, p ReportParams) error {
			return sqlfence.Do(ctx, db, run, func(tx *sql.Tx) error { // refused if a newer run has written
				return store(tx, build(p, run.Tick))
			})
		})
		cmd.Main(registry) // a whole binary with every quorate command
		// :docs/jobs.md
	}
	guardedJob()
	if stored != "all 1970-01-01" {
		t.Errorf("stored %q", stored)
	}
	holds(t, "../../docs/jobs.md", "jobspage_test.go")
}

// holds fails the test unless the page holds the lines between the marks of the
// source, whatever their indentation.
func holds(t *testing.T, page, source string) {
	t.Helper()
	text := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for line := range strings.Lines(string(b)) {
			lines = append(lines, strings.Join(strings.Fields(line), " "))
		}
		return strings.Join(lines, "\n")
	}
	_, code, _ := strings.Cut(text(source), "\n// docs/jobs.md:\n")
	code, _, marked := strings.Cut(code, "\n// :docs/jobs.md\n")
	if !marked || !strings.Contains(text(page), "```go\n"+code+"\n```") {
		t.Errorf("%s does not hold\n%s", page, code)
	}
}
