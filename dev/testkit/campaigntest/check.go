package campaigntest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/internal/console/view"
)

// Finish is End, and fails the test with what is wrong.
func (c *Campaign) Finish() {
	c.Helper()
	c.Report(c.End())
}

// Report fails the test with what is wrong.
func (c *Campaign) Report(wrong []string) {
	c.Helper()
	for i, text := range wrong[:min(len(wrong), 20)] {
		c.Errorf("violation %d of %d: %s", i+1, len(wrong), text)
	}
}

// End waits until the last ticks are settled, and checks all of them, before and after the
// replicas have ended, and then what pages say of them. It returns what is wrong.
func (c *Campaign) End() (wrong []string) {
	c.Helper()
	to := time.Now().Add(time.Second)
	c.Wait(window + 3*time.Second) // so that all can run, or be given up
	for _, j := range Jobs() {
		c.Due(j.Name, j.Every, c.from, to)
	}
	wrong = c.once()
	rows, untrue := c.truth(len(wrong) == 0)
	wrong = append(wrong, untrue...)
	outcomes := map[string]int{}
	for _, row := range rows {
		outcomes[told(row).String()]++
	}
	for _, counted := range []map[string]int{c.faults, outcomes} {
		for what, n := range counted {
			c.Logf("%4d × %s", n, what)
		}
	}
	c.Drain()
	if len(wrong) > 0 {
		return wrong
	}
	c.Wait(3 * time.Second) // ticks come that nobody decides
	_, untrue = c.truth(false)
	return append(untrue, c.readsAtEnd()...)
}

// Due says that a job has ticks that must be in the ledger, after an instant, up to another.
func (c *Campaign) Due(job string, every time.Duration, from, to time.Time) {
	for at := from.Truncate(every).Add(every); !at.After(to); at = at.Add(every) {
		if !c.wasApart(at) {
			c.Facts.Ticks = append(c.Facts.Ticks, checker.Tick{Job: job, At: at.UTC()})
		}
	}
}

// wasApart reports whether the tick may have been claimed while two servers took themselves
// for the only one.
func (c *Campaign) wasApart(tick time.Time) bool {
	return slices.ContainsFunc(c.Apart, func(s checker.Span) bool { return tick.After(s.From.Add(-window)) && tick.Before(s.To) })
}

// settledWithin is how long after the last trouble every tick has a row, where a replica
// incarnations: docs/guarantees/ledger.md, with room for a busy machine.
const settledWithin = time.Minute

// CheckTruth compares the ledger's rows of jobs that have ticks with the lines in the sink and
// the logs of all processes, and fails the test unless they agree. It returns the rows.
func (c *Campaign) CheckTruth() map[checker.Tick]view.Tick {
	c.Helper()
	rows, wrong := c.truth(!c.Failed())
	c.Report(wrong)
	return rows
}

// truth returns what CheckTruth does, and what is wrong. While processes live, a patient check waits for
// rows that may still come.
func (c *Campaign) truth(patient bool) (map[checker.Tick]view.Tick, []string) {
	c.Helper()
	until := time.Now().Add(settledWithin)
	for ; ; c.Wait(time.Second) {
		r, rows := c.record()
		violations := checker.Check(r)
		lives := slices.ContainsFunc(r.Incarnations, func(l checker.Incarnation) bool { return l.Until.IsZero() })
		if len(violations) > 0 && lives && patient && time.Now().Before(until) {
			continue
		}
		var wrong []string
		for _, violation := range violations {
			wrong = append(wrong, fmt.Sprint(violation))
		}
		return rows, wrong
	}
}

// record reads the ledger, and then the logs and the sink: a replica logs each record, and a
// job has written its line before its run has ended.
func (c *Campaign) record() (checker.Record, map[checker.Tick]view.Tick) {
	c.Helper()
	r, rows := c.Facts, map[checker.Tick]view.Tick{}
	jobs := map[string]bool{}
	for _, tick := range r.Ticks {
		jobs[tick.Job] = true
	}
	for job := range jobs {
		var list []view.Tick
		if err := json.Unmarshal([]byte(c.Must("ticks", job, "--limit", "1000", "-o", "json")), &list); err != nil {
			c.Fatal(err)
		}
		for _, row := range list {
			t := told(row)
			t.Job = job // it may have had another name
			r.Rows, rows[t.Tick] = append(r.Rows, t), row
		}
	}
	r.Read = time.Now()
	for _, p := range c.incarnations {
		r.Incarnations = append(r.Incarnations, p.Incarnation())
		r.Forgot = r.Forgot || strings.Contains(p.Log(), "blank node joined")
	}
	r.Sink = c.Effects()
	return r, rows
}

// told is what a row of the ledger says.
func told(row view.Tick) checker.Row {
	r := checker.Row{
		Tick: checker.Tick{Job: row.Job, At: view.Time(&row.Tick)}, Outcome: row.Outcome,
		Replica: view.Text(row.Replica), Started: view.Time(row.Started),
	}
	if row.Code != nil {
		r.Code = string(*row.Code)
	}
	if row.Token != nil {
		r.Token = uint64(*row.Token)
	}
	return r
}

// Began ends the line of a run that has not done all its work.
const Began = "began"

// Effects are the lines that the jobs have written so far.
func (c *Campaign) Effects() (list []checker.Effect) {
	c.Helper()
	b, err := os.ReadFile(c.Sink)
	if err != nil && !os.IsNotExist(err) {
		c.Fatal(err)
	}
	for text := range strings.Lines(string(b)) {
		var e checker.Effect
		var at, stage string
		if n, err := fmt.Sscan(text, &at, &e.Token, &e.Replica, &e.Job, &stage); n < 4 {
			c.Fatalf("line %q: %v", text, err)
		}
		if e.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			c.Fatalf("line %q: %v", text, err)
		}
		e.At, e.Finished = e.At.UTC(), stage != Began
		list = append(list, e)
	}
	return list
}

// AwaitRun waits until a tick of now has run, and returns it.
func (c *Campaign) AwaitRun() (first checker.Effect) {
	c.Helper()
	from := time.Now()
	c.Eventually("ticks run again", func() bool {
		list := c.Effects()
		n := slices.IndexFunc(list, func(e checker.Effect) bool { return e.At.After(from) })
		if n >= 0 {
			first = list[n]
		}
		return n >= 0
	})
	return first
}

// CheckOnce fails the test unless each tick has at most one line, and the tokens of a job
// grow from tick to tick. Only a job that is repeated after a crash may write twice.
func (c *Campaign) CheckOnce() {
	c.Helper()
	c.Report(c.once())
}

// once returns what CheckOnce finds wrong.
func (c *Campaign) once() (wrong []string) {
	c.Helper()
	last, seen := map[string]checker.Effect{}, map[checker.Tick]checker.Effect{}
	for _, e := range c.Effects() {
		if c.wasApart(e.At) {
			continue
		}
		other, twice := seen[e.Tick]
		if twice && (e.Job != repeated || e.Token <= other.Token) {
			wrong = append(wrong, fmt.Sprintf("tick %s ran twice: on %s with token %d, and on %s with token %d", e.Tick, other.Replica, other.Token, e.Replica, e.Token))
		}
		seen[e.Tick] = e
		if l := last[e.Job]; e.At.After(l.At) {
			if e.Token <= l.Token {
				wrong = append(wrong, fmt.Sprintf("the token did not grow from %s (%d) to %s (%d)", l.Tick, l.Token, e.Tick, e.Token))
			}
			last[e.Job] = e
		}
	}
	if len(seen) == 0 {
		wrong = append(wrong, "nothing ran")
	}
	return wrong
}
