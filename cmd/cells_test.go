package cmd

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/output"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/redistest"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A cellRig is two cells of three servers, and three replicas with some jobs.
type cellRig struct {
	*testing.T
	servers []*redistest.Server // three of east, then three of west
	config  string
	jobs    string
	lines   string
	thawed  []time.Time // when a cell that had no quorum got it back
}

// newCellRig starts the servers; the replicas are started by the test. Each run
// of a job adds a line.
func newCellRig(t *testing.T) *cellRig {
	t.Helper()
	r := &cellRig{T: t, servers: redistest.StartN(t, 6), lines: filepath.Join(t.TempDir(), "lines")}
	r.jobs = "\njobs:\n"
	for i := range 8 {
		r.jobs += fmt.Sprintf("  job-%d: {func: exec, schedule: \"@every 1s\", params: {command: [sh, -c, 'echo \"$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA $QUORATE_JOB\" >> %s']}}\n", i, r.lines)
	}
	r.config = r.write("redis: {restart_grace: 4s, cells: {east: {nodes: [%s]}, west: {nodes: [%s]}}}", r.urls(0, 3), r.urls(3, 6))
	return r
}

func (r *cellRig) urls(from, to int) string {
	return strings.Join(redistest.URLs(r.servers[from:to]), ", ")
}

// write writes a configuration with these nodes.
func (r *cellRig) write(format string, args ...any) string {
	r.Helper()
	path := filepath.Join(r.TempDir(), "config.yaml")
	text := "namespace: cells\n" + fmt.Sprintf(format, args...) + "\nlock: {ttl: 3s, safety_margin: 1200ms}\nlog: {format: json}\n" + r.jobs
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	return path
}

func (r *cellRig) replicas(config string, ids ...string) []*process {
	r.Helper()
	var list []*process
	for _, id := range ids {
		list = append(list, startReplica(r.T, config, id))
	}
	return list
}

// cells returns the jobs of each cell, as the listing has them.
func (r *cellRig) cells(config string) map[string][]string {
	r.Helper()
	of := map[string][]string{}
	for _, row := range list[listing.Job](r.T, "jobs", "-c", config) {
		of[output.Dash(row.Cell)] = append(of[output.Dash(row.Cell)], row.Job)
	}
	return of
}

// ran counts the lines of each job.
func (r *cellRig) ran() map[string]int {
	r.Helper()
	n := map[string]int{}
	for _, l := range readLines(r.T, r.lines) {
		n[l.job]++
	}
	return n
}

// more waits until each of the jobs has n more lines.
func (r *cellRig) more(n int, jobs ...string) {
	r.Helper()
	before := r.ran()
	eventually(r.T, fmt.Sprintf("%v run", jobs), func() bool {
		now := r.ran()
		return !slices.ContainsFunc(jobs, func(job string) bool { return now[job] < before[job]+n })
	})
}

// check fails the test if a tick ran twice, the tokens of a job did not grow, or the
// ledger is not true about the ticks of the span. Each job has its own beginning.
func (r *cellRig) check(from func(job string) time.Time, to time.Time, lives ...*process) {
	r.Helper()
	of := map[string][]line{}
	for _, l := range readLines(r.T, r.lines) {
		of[l.job] = append(of[l.job], l)
	}
	for _, job := range slices.Sorted(maps.Keys(of)) {
		checkOnce(r.T, of[job])
	}
	ticks := map[string][]string{}
	for job := range of {
		ticks[job] = ticksBetween(from(job), to, time.Second)
	}
	checkTruthAfter(r.T, r.thawed, r.config, ticks, r.lines, lives...)
}

// TestCellsOnServers: jobs divide over two cells; while one has no quorum its jobs
// are missed, with the reason, and the others go on; then it is back.
func TestCellsOnServers(t *testing.T) {
	t.Parallel()
	r := newCellRig(t)
	initNew(t, r.config)
	replicas := r.replicas(r.config, "a", "b", "c")
	for _, p := range replicas {
		p.waitLog(`"ready".*east|east.*"ready"`)
		p.waitLog(`"ready".*west|west.*"ready"`)
	}
	from := time.Now()
	eventually(t, "all jobs are published", func() bool { return len(slices.Concat(slices.Collect(maps.Values(r.cells(r.config)))...)) == 8 })
	of := r.cells(r.config)
	east, west := of["east"], of["west"]
	if len(east) == 0 || len(west) == 0 || len(of) != 2 {
		t.Fatalf("the jobs are in %v", of)
	}
	r.more(3, slices.Concat(east, west)...)

	// Nothing of a job of one cell is in the other.
	for i, s := range r.servers {
		for _, key := range s.Client().Keys(t.Context(), "{cells}:job:*").Val() {
			job := strings.Split(key, ":")[2]
			if slices.Contains(east, job) != (i < 3) {
				t.Errorf("server %d keeps %s", i, key)
			}
		}
	}

	// A replica that believes in one group is refused.
	alone := startReplica(t, r.write("redis: {restart_grace: 4s, nodes: [%s]}", r.urls(0, 3)), "x")
	if code := alone.exitCode(); code == exitDone || !strings.Contains(alone.log(), "cell east of east, west") {
		t.Errorf("a replica with one group exited with %d:\n%s", code, alone.tail(5))
	}

	for _, s := range r.servers[3:5] {
		s.Freeze()
	}
	r.more(5, east...)
	stdout, stderr, code := quorate(t, "jobs", "-c", r.config)
	if code != exitNoQuorum || !strings.Contains(stdout, east[0]) || !strings.Contains(stderr, "cell west") {
		t.Errorf("jobs without west: exit code %d\n%s%s", code, stdout, stderr)
	}
	if _, stderr, code := quorate(t, "trigger", west[0], "-c", r.config); code != exitNoQuorum {
		t.Errorf("triggering a job of west: exit code %d: %s", code, stderr)
	}
	if _, stderr, code := quorate(t, "pause", east[0], "--reason", "try", "-c", r.config); code != exitDone {
		t.Errorf("pausing a job of east: exit code %d: %s", code, stderr)
	}
	for _, s := range r.servers[3:5] {
		s.Thaw()
	}
	r.thawed = append(r.thawed, time.Now())
	r.more(2, west...)
	// A replica that could not record it tries again later.
	eventually(t, "the ledger has a missed tick of "+west[0], func() bool {
		return slices.ContainsFunc(list[listing.Tick](t, "ticks", west[0], "-c", r.config), func(row listing.Tick) bool {
			return row.Outcome == ledger.Missed && strings.HasPrefix(*row.Reason, "no quorum")
		})
	})
	for _, row := range list[listing.Tick](t, "ticks", east[1], "-c", r.config) {
		if row.Outcome == ledger.Missed {
			t.Errorf("%s: tick %s was missed: %s", east[1], row.Tick, *row.Reason)
		}
	}
	to := time.Now()
	for _, p := range replicas {
		p.signal(syscall.SIGTERM)
	}
	for _, p := range replicas {
		if code := p.exitCode(); code != exitDone {
			t.Errorf("%s exited with %d", p.id, code)
		}
	}
	r.check(func(string) time.Time { return from }, to, replicas...)
}

// TestLayoutChangeOnServers: a cluster of one group becomes two cells, with every
// tick run at most once, and the replicas of each layout refused by the other.
func TestLayoutChangeOnServers(t *testing.T) {
	t.Parallel()
	r := newCellRig(t)
	one := r.write("redis: {restart_grace: 4s, nodes: [%s]}", r.urls(0, 3))
	initNew(t, one)
	before := r.replicas(one, "a", "b")
	for _, p := range before {
		p.waitLog(`"ready"`)
	}
	from := time.Now()
	r.more(3, "job-0", "job-7")
	early := startReplica(t, r.config, "early")
	if code := early.exitCode(); code == exitDone || !strings.Contains(early.log(), "nodes change moves a cluster") {
		t.Errorf("a replica that came too early exited with %d:\n%s", code, early.tail(5))
	}
	if keys := r.servers[3].Client().DBSize(t.Context()).Val(); keys > 0 {
		t.Errorf("it has left %d keys on a node of the new cell", keys)
	}
	stdout, stderr, code := quorate(t, "nodes", "change", "-c", one, "--to", r.config)
	if code != exitDone || !strings.Contains(stdout, "restart every replica") {
		t.Fatalf("nodes change: exit code %d\n%s%s", code, stdout, stderr)
	}
	after := r.replicas(r.config, "c", "d") // beside those of the former layout
	for _, p := range after {
		p.waitLog(`no tick runs before`)
	}
	moved := time.Now()
	all := []string{"job-0", "job-1", "job-2", "job-3", "job-4", "job-5", "job-6", "job-7"}
	r.more(3, all...)
	for _, l := range readLines(t, r.lines)[len(readLines(t, r.lines))-8:] {
		if l.replica == "a" || l.replica == "b" {
			t.Errorf("%v ran on a replica of the former layout", l)
		}
	}
	of := r.cells(r.config)
	if len(of["east"]) == 0 || len(of["west"]) == 0 {
		t.Errorf("the jobs are in %v", of)
	}
	to, lives := time.Now(), append(before, after...)
	for _, p := range lives {
		p.signal(syscall.SIGTERM)
		p.exitCode()
	}
	r.check(func(job string) time.Time {
		if slices.Contains(of["west"], job) {
			return moved // the ledger of before stays in the cell it had
		}
		return from
	}, to, lives...)
}

// TestDevWithCells: cells without Redis.
func TestDevWithCells(t *testing.T) {
	t.Parallel()
	if _, stderr, code := quorate(t, "dev", "--cells", "17"); code != exitUsage {
		t.Errorf("17 cells: exit code %d: %s", code, stderr)
	}
}
