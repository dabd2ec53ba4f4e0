package cmd

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/quorate/quorate/cmd/internal/cmdtest"
	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Names as clusters have them, which are longer than those of examples.
const (
	longJob     = "billing.invoices.and.reminders.of.all.customers"
	longReplica = "billing-worker-6f7d9c5b8d-x2x4q-3f9a11c2"
	longNode    = "redis-3.eu-central-1.internal.example.com:6379"
	longReason  = "exit status 3: /var/lib/reports/2026/12/01/customers.csv: no space left on device; see https://wiki.example.com/runbooks/reports?section=disk&customer=acme"
)

// wide are the listings with long names, by command.
func wide(t *testing.T) map[string]func(width int) string {
	t.Helper()
	ticks := cmdtest.Entries()
	for i := range ticks {
		ticks[i].Job = longJob
		if ticks[i].Replica != "" {
			ticks[i].Replica = longReplica
		}
	}
	ticks[1].Error = longReason
	started := view.Stamp(tick.Add(-26 * time.Hour))
	jobs := []view.Job{{
		Job: longJob, Key: longJob, Schedule: view.Optional("*/15 8-18 * * mon-fri"), Timezone: view.Optional("America/Argentina/Buenos_Aires"),
		Next: view.Stamp(tick), LastTick: view.Stamp(tick), LastOutcome: view.Optional(ledger.Interrupted), Published: started,
		Hash: view.Optional("3f786850e387"), Live: true,
	}}
	drifting := []view.Job{jobs[0]}
	drifting[0].Drift = true
	replicas := []view.Replica{view.NewReplica(roster.Replica{
		ID: longReplica, Version: "v1.12.3-0.20261201020000-3f786850e387", Host: "billing-worker-6f7d9c5b8d-x2x4q", PID: 1, State: roster.StateDraining,
		Started: tick.Add(-26 * time.Hour), Seen: tick.Add(-2 * time.Second), Running: []string{longJob, "nightly-report"}, ConfigHash: "3f786850e387550f",
		Labels: map[string]string{"topology.kubernetes.io/zone": "eu-central-1a"},
	})}
	commands := goldenCommands()
	commands[1].Job, commands[1].By, commands[1].Reason = view.Optional(longJob), view.Optional("ann.example@bastion-2.eu-central-1.internal"), view.Optional(longReason)
	locks := view.LockRows(holdings())
	locks[0].Job, locks[0].Holder = longJob, view.Optional(longReplica)
	nodes := []view.Node{{
		Node: longNode, State: "abstaining", Since: view.Stamp(tick), VouchesAt: view.Stamp(tick),
		RunID: view.Optional("a3f1d1c6"), Epoch: view.Optional(int64(1)), OffsetMilli: view.Optional(-3.2),
	}}
	checks := []view.Check{{
		Node: view.Optional(longNode), State: "abstaining", Verdict: "mend", RTTMillis: view.Optional(101.2),
		OffsetMilli: view.Optional(-3.2), Version: view.Optional("7.0.15"), Persistence: view.Optional("aof everysec"),
	}}
	next := []nextRow{{Next: view.Next{Job: longJob, Tick: *view.Stamp(tick), Note: view.Optional("after the gap; starts 1m30s later (jitter)")}, local: "Tue 2026-12-01 03:00:00 CET"}}
	return map[string]func(int) string{
		"jobs":                           laid(t, jobListing(jobs, tick)),
		"jobs, of which one is replaced": laid(t, jobListing(drifting, tick)),
		"ticks":                          laid(t, tickTable(asRows(ticks, view.NewTick))),
		"runs":                           laid(t, runTable(asRows(ticks, view.NewRun))),
		"replicas":                       laid(t, replicaListing(replicas, tick)),
		"replicas --left":                laid(t, leftListing(replicas, tick)),
		"locks":                          laid(t, lockListing(locks, tick)),
		"nodes":                          laid(t, nodeListing(nodes)),
		"store check":                    laid(t, checkListing(checks)),
		"next":                           laid(t, nextListing(next)),
		"audit":                          laid(t, auditListing(commands)),
		"backfill --dry-run":             laid(t, backfillListing(longJob, []time.Time{tick})),
	}
}

// laid lays a table out in a number of columns.
func laid[R any](t *testing.T, l output.Table[R]) func(int) string {
	t.Helper()
	return func(width int) string {
		var b strings.Builder
		if err := l.Write(&b, width, new(output.Sheet)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
}

// colour matches what colours a cell on a terminal.
var colour = regexp.MustCompile("\x1b\\[[0-9]*m")

// TestTablesFit checks that every table fits a common terminal: no line is longer, except
// for a word to copy. Elsewhere names are complete.
func TestTablesFit(t *testing.T) {
	t.Parallel()
	const width = 80
	var all strings.Builder
	tables := wide(t)
	for _, name := range []string{
		"jobs", "jobs, of which one is replaced", "ticks", "runs", "replicas", "replicas --left", "locks", "nodes", "store check", "next", "audit", "backfill --dry-run",
	} {
		text := colour.ReplaceAllString(tables[name](width), "")
		all.WriteString("# " + name + "\n" + text)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && !strings.HasPrefix(line, "      https://") {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
		whole := tables[name](0)
		for _, word := range []string{longJob, longReplica, longNode, longReason[:100]} {
			if strings.Contains(whole, word[:12]) && !strings.Contains(whole, word) {
				t.Errorf("%s does not have %s: %s", name, word, whole)
			}
		}
		if wider := colour.ReplaceAllString(tables[name](1000), ""); wider != whole {
			t.Errorf("%s on a terminal with room:\n%swant\n%s", name, wider, whole)
		}
	}
	cmdtest.Golden(t, "tables-80.txt", all.String())
}

// TestFollowedTableFits: later rows use the columns of earlier ones, under new headings if
// columns were omitted.
func TestFollowedTableFits(t *testing.T) {
	t.Parallel()
	list := cmdtest.Entries()
	var b strings.Builder
	s := new(output.Sheet)
	for _, e := range []ledger.Entry{list[0], list[1], list[0]} {
		if b.Len() > 0 {
			e.Job, e.Replica = longJob, longReplica
		}
		if err := runTable([]view.Run{view.NewRun(e)}).Write(&b, 100, s); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(b.String(), "\n")
	if len(lines) != 7 || !strings.Contains(lines[0], "TOKEN") || strings.Contains(lines[2], "TOKEN") || !strings.HasPrefix(lines[4], "    why: exit") {
		t.Errorf("%d lines:\n%s", len(lines), &b)
	}
}

// TestTablesPassNothingOn: foreign texts cannot control the terminal.
func TestTablesPassNothingOn(t *testing.T) {
	t.Parallel()
	row := view.NewRun(cmdtest.Entries()[1])
	row.Job, row.Error = "\x1b[2Jj", view.Optional("a\tb\n\x1b]0;owned\x07")
	var b bytes.Buffer
	if err := runTable([]view.Run{row}).Print(&b, "table"); err != nil || strings.ContainsAny(b.String(), "\x1b\x07\t") || bytes.Count(b.Bytes(), []byte("\n")) != 2 {
		t.Errorf("%q, %v", &b, err)
	}
}

// The state of a replica says with whom it should not be.
func TestReplicaState(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]view.Replica{
		"ready":                  {State: roster.StateReady},
		"ready, id in use twice": {State: roster.StateReady, Shared: true},
		"ready, id in use twice, other jobs named invoices and mails": {State: roster.StateReady, Shared: true, Strangers: []string{"invoices", "mails"}},
	} {
		if got := stateCell(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
