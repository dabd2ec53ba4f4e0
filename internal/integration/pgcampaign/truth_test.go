package pgcampaign_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd"
	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/truth"
)

// settledWithin is how long after the last trouble every tick has a row, where a replica
// lives: docs/guarantees/ledger.md, with room for a busy machine.
const settledWithin = time.Minute

// quorate runs one command in this process.
func quorate(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	app := cmd.App{Registry: registry(), In: strings.NewReader(""), Out: &out, Err: &errs}
	code = app.Exec(t.Context(), args)
	return out.String(), errs.String(), code
}

// must runs a command that must succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := quorate(t, args...)
	if code != 0 {
		t.Fatalf("quorate %v: exit code %d: %s", args, code, stderr)
	}
	return stdout
}

// rows are those of the job's ticks, newest first.
func (c *campaign) rows(job string) (list []listing.Tick) {
	c.t.Helper()
	text := must(c.t, "ticks", job, "-c", c.config, "--limit", "1000", "-o", "json")
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		c.t.Fatal(err)
	}
	return list
}

// checkTruth compares the ledger's rows of the ticks with the lines in the sink and the logs
// of all processes. It returns how many ticks have which outcome.
func (c *campaign) checkTruth(ticks []truth.Tick) map[string]int {
	c.t.Helper()
	until := time.Now().Add(settledWithin)
	if c.t.Failed() {
		until = time.Now() // it does not get better
	}
	for ; ; wait(c.t, time.Second) {
		r, outcomes := c.record(ticks)
		violations := truth.Check(r)
		switch {
		case len(violations) == 0:
			return outcomes
		case time.Now().Before(until):
			continue
		}
		for i, violation := range violations[:min(len(violations), 20)] {
			c.t.Errorf("violation %d of %d: %v", i+1, len(violations), violation)
		}
		return outcomes
	}
}

// record reads the ledger, and then the logs and the sink: a replica logs each record, and
// a job has written its line before its run has ended.
func (c *campaign) record(ticks []truth.Tick) (truth.Record, map[string]int) {
	c.t.Helper()
	r := truth.Record{TTL: ttl, Window: window, Ticks: ticks, Thawed: c.thawed, Promoted: c.promoted, Lost: c.lost}
	outcomes := map[string]int{}
	for _, j := range allJobs() {
		for _, row := range c.rows(j.name) {
			told := truth.Row{
				Tick: truth.Tick{Job: j.name, At: moment(c.t, row.Tick)}, Outcome: row.Outcome,
				Replica: listing.Text(row.Replica), Started: listing.Time(row.Started),
			}
			if row.Code != nil {
				told.Code = string(*row.Code)
			}
			if row.Token != nil {
				told.Token = uint64(*row.Token)
			}
			r.Rows = append(r.Rows, told)
			outcomes[told.String()]++
		}
	}
	r.Read = time.Now()
	for _, p := range c.lives {
		r.Lives = append(r.Lives, p.life())
	}
	r.Sink = c.effects()
	return r, outcomes
}

// effects are the lines that the jobs have written so far.
func (c *campaign) effects() (list []truth.Effect) {
	c.t.Helper()
	b, err := os.ReadFile(c.sink)
	if err != nil && !os.IsNotExist(err) {
		c.t.Fatal(err)
	}
	for text := range strings.Lines(string(b)) {
		e, at := truth.Effect{Finished: true}, ""
		if _, err := fmt.Sscan(text, &at, &e.Token, &e.Replica, &e.Job); err != nil {
			c.t.Fatalf("line %q: %v", text, err)
		}
		e.At = moment(c.t, at)
		list = append(list, e)
	}
	return list
}

// checkOnce fails the test unless each tick has at most one line, and the tokens of a job
// grow from tick to tick. Only a job that is repeated after a crash may write twice.
func (c *campaign) checkOnce() {
	c.t.Helper()
	last, seen := map[string]truth.Effect{}, map[truth.Tick]truth.Effect{}
	for _, e := range c.effects() {
		if c.wasApart(e.At) {
			continue
		}
		other, twice := seen[e.Tick]
		if twice && (e.Job != repeated || e.Token <= other.Token) {
			c.t.Errorf("tick %s ran twice: on %s with token %d, and on %s with token %d", e.Tick, other.Replica, other.Token, e.Replica, e.Token)
		}
		seen[e.Tick] = e
		if l := last[e.Job]; e.At.After(l.At) {
			if e.Token <= l.Token {
				c.t.Errorf("the token did not grow from %s (%d) to %s (%d)", l.Tick, l.Token, e.Tick, e.Token)
			}
			last[e.Job] = e
		}
	}
	if len(seen) == 0 {
		c.t.Error("nothing ran")
	}
}

func moment(t *testing.T, stamp string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}
