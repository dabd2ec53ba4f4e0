package schedtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/scheduler/ledger"
)

// A Call is one call of a function of a job.
type Call[P any] struct {
	Run    jobs.Run
	Params P
	At     time.Time // when it began, by the virtual clock, in UTC
}

// Calls records the calls of a function. Register its Func instead of the function; then
// the params of the configuration are decoded as in production. The zero value is ready to
// use.
//
//	var reports schedtest.Calls[ReportParams]
//	jobs.Register(registry, "report", reports.Func)
type Calls[P any] struct {
	// Do, if set, is what the function does.
	Do func(ctx context.Context, run jobs.Run, params P) error

	mu   sync.Mutex
	list []Call[P]
}

// Func records the call, then calls Do.
func (c *Calls[P]) Func(ctx context.Context, run jobs.Run, params P) error {
	c.mu.Lock()
	c.list = append(c.list, Call[P]{Run: run, Params: params, At: time.Now().UTC()})
	c.mu.Unlock()
	if c.Do == nil {
		return nil
	}
	return c.Do(ctx, run, params)
}

// All returns the calls in the order in which they began.
func (c *Calls[P]) All() []Call[P] {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.list)
}

// Ticks returns the ledger's entry of every tick of the job, oldest first: its last run, or
// why it did not run.
func (c *Cluster) Ticks(job string) []ledger.Entry {
	c.t.Helper()
	return c.read(c.known(job), c.world.stores.Ledger.Ticks)
}

// Runs returns the ledger's entries of the runs of the jobs, by default of all jobs, in the
// order in which they began. A tick that was run again has several.
func (c *Cluster) Runs(names ...string) []ledger.Entry {
	c.t.Helper()
	if len(names) == 0 {
		for _, j := range c.jobs {
			names = append(names, j.Name)
		}
	}
	var all []ledger.Entry
	for _, name := range names {
		all = append(all, c.read(c.known(name), c.world.stores.Ledger.Runs)...)
	}
	slices.SortStableFunc(all, func(a, b ledger.Entry) int { return a.Started.Compare(b.Started) })
	return all
}

func (c *Cluster) read(key string, list func(context.Context, ledger.Query) ([]ledger.Entry, error)) []ledger.Entry {
	c.t.Helper()
	ctx := context.WithoutCancel(c.t.Context())
	entries, err := list(ctx, ledger.Query{Job: key, Limit: remembered})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.Reverse(entries)
	return entries
}

// Expect compares the ledger's entries of the job's ticks with lines, one per tick, oldest
// first:
//
//	2026-03-29T01:00:00Z succeeded
//	2026-03-30T01:00:00Z missed: no quorum
//
// The beginning of the reason may follow the outcome. A difference is an error, which shows
// both.
func (c *Cluster) Expect(job string, lines ...string) {
	c.t.Helper()
	if diff := compare(c.Ticks(job), lines); diff != "" {
		c.t.Errorf("ticks of %s:\n%s", job, diff)
	}
}

// compare shows the differences between ticks and lines, "" if there are none.
func compare(ticks []ledger.Entry, lines []string) string {
	same := true
	var b strings.Builder
	for i := range max(len(ticks), len(lines)) {
		got, want := "nothing", "nothing"
		if i < len(ticks) {
			got = line(ticks[i])
		}
		if i < len(lines) {
			want = lines[i]
		}
		if matches(got, want) {
			fmt.Fprintf(&b, "      %s\n", got)
			continue
		}
		same = false
		fmt.Fprintf(&b, "  got %s\n want %s\n", got, want)
	}
	if same {
		return ""
	}
	return b.String()
}

// matches reports whether got is the wanted line, whose reason may be omitted or cut.
func matches(got, want string) bool {
	return got == want || strings.HasPrefix(got, want+": ") ||
		strings.Contains(want, ": ") && strings.HasPrefix(got, want)
}

// line is what Expect compares.
func line(e ledger.Entry) string {
	text := jobs.FormatTick(e.Tick) + " " + string(e.Outcome)
	if why := e.Reason.String(); why != "" {
		text += ": " + why
	}
	return text
}

// tail is how many ticks of each job a failed test prints.
const tail = 20

// account lists the latest events, for a test that failed.
func (c *Cluster) account() string {
	var b strings.Builder
	fmt.Fprintf(&b, "it is %s; of the last ticks the ledger has:", jobs.FormatTick(c.Now()))
	for _, j := range c.jobs {
		fmt.Fprintf(&b, "\n%s:", j.Name)
		ticks := c.Ticks(j.Name)
		for _, e := range ticks[max(0, len(ticks)-tail):] {
			fmt.Fprintf(&b, "\n  %s", line(e))
			if e.Ran() {
				fmt.Fprintf(&b, " (%s, attempt %d, token %d, %s)", e.Replica, e.Attempt, e.Token, e.Trigger)
			}
			if e.Error != "" {
				fmt.Fprintf(&b, ": %s", e.Error)
			}
		}
	}
	return b.String()
}
