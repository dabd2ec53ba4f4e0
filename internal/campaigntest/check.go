package campaigntest

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/truth"
)

// Finish waits until the last ticks are settled, and checks all of them, before and after the
// replicas have ended.
func (c *Campaign) Finish() {
	c.Helper()
	to := time.Now().Add(time.Second)
	c.Wait(window + 3*time.Second) // so that all can run, or be given up
	for _, j := range Jobs() {
		for at := c.from.Truncate(j.Every).Add(j.Every); !at.After(to); at = at.Add(j.Every) {
			if !c.wasApart(at) {
				c.Facts.Ticks = append(c.Facts.Ticks, truth.Tick{Job: j.Name, At: at.UTC()})
			}
		}
	}
	c.CheckOnce()
	outcomes := c.checkTruth()
	for _, counted := range []map[string]int{c.faults, outcomes} {
		for what, n := range counted {
			c.Logf("%4d × %s", n, what)
		}
	}
	for _, r := range c.Replicas {
		r.Drain()
	}
	if !c.Failed() {
		c.Wait(3 * time.Second) // ticks come that nobody decides
		c.checkTruth()
	}
}

// wasApart reports whether the tick may have been claimed while two servers took themselves
// for the only one.
func (c *Campaign) wasApart(tick time.Time) bool {
	return slices.ContainsFunc(c.Apart, func(s truth.Span) bool { return tick.After(s.From.Add(-window)) && tick.Before(s.To) })
}

// settledWithin is how long after the last trouble every tick has a row, where a replica
// lives: docs/guarantees/ledger.md, with room for a busy machine.
const settledWithin = time.Minute

// checkTruth compares the ledger's rows with the lines in the sink and the logs of all
// processes. It returns how many ticks have which outcome.
func (c *Campaign) checkTruth() map[string]int {
	c.Helper()
	until := time.Now().Add(settledWithin)
	if c.Failed() {
		until = time.Now() // it does not get better
	}
	for ; ; c.Wait(time.Second) {
		r, outcomes := c.record()
		violations := truth.Check(r)
		switch {
		case len(violations) == 0:
			return outcomes
		case time.Now().Before(until):
			continue
		}
		for i, violation := range violations[:min(len(violations), 20)] {
			c.Errorf("violation %d of %d: %v", i+1, len(violations), violation)
		}
		return outcomes
	}
}

// record reads the ledger, and then the logs and the sink: a replica logs each record, and a
// job has written its line before its run has ended.
func (c *Campaign) record() (truth.Record, map[string]int) {
	c.Helper()
	r, outcomes := c.Facts, map[string]int{}
	for _, j := range Jobs() {
		var rows []listing.Tick
		if err := json.Unmarshal([]byte(c.Must("ticks", j.Name, "--limit", "1000", "-o", "json")), &rows); err != nil {
			c.Fatal(err)
		}
		for _, row := range rows {
			told := truth.Row{
				Tick: truth.Tick{Job: j.Name, At: c.moment(row.Tick)}, Outcome: row.Outcome,
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
	r.Sink = c.Effects()
	return r, outcomes
}

// Effects are the lines that the jobs have written so far.
func (c *Campaign) Effects() (list []truth.Effect) {
	c.Helper()
	b, err := os.ReadFile(c.Sink)
	if err != nil && !os.IsNotExist(err) {
		c.Fatal(err)
	}
	for text := range strings.Lines(string(b)) {
		e, at := truth.Effect{Finished: true}, ""
		if _, err := fmt.Sscan(text, &at, &e.Token, &e.Replica, &e.Job); err != nil {
			c.Fatalf("line %q: %v", text, err)
		}
		e.At = c.moment(at)
		list = append(list, e)
	}
	return list
}

// AwaitRun waits until a tick of now has run, and returns it.
func (c *Campaign) AwaitRun() (first truth.Effect) {
	c.Helper()
	from := time.Now()
	c.Eventually("ticks run again", func() bool {
		list := c.Effects()
		n := slices.IndexFunc(list, func(e truth.Effect) bool { return e.At.After(from) })
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
	last, seen := map[string]truth.Effect{}, map[truth.Tick]truth.Effect{}
	for _, e := range c.Effects() {
		if c.wasApart(e.At) {
			continue
		}
		other, twice := seen[e.Tick]
		if twice && (e.Job != repeated || e.Token <= other.Token) {
			c.Errorf("tick %s ran twice: on %s with token %d, and on %s with token %d", e.Tick, other.Replica, other.Token, e.Replica, e.Token)
		}
		seen[e.Tick] = e
		if l := last[e.Job]; e.At.After(l.At) {
			if e.Token <= l.Token {
				c.Errorf("the token did not grow from %s (%d) to %s (%d)", l.Tick, l.Token, e.Tick, e.Token)
			}
			last[e.Job] = e
		}
	}
	if len(seen) == 0 {
		c.Error("nothing ran")
	}
}

func (c *Campaign) moment(stamp string) time.Time {
	c.Helper()
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		c.Fatal(err)
	}
	return at.UTC()
}
