package cmd

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/truth"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Times in the campaigns' configurations.
const (
	campaignTTL    = 3 * time.Second
	campaignWindow = 10 * time.Second // the default
)

// writesLines is a job that does nothing but tell the sink.
const writesLines = `
jobs:
  tick:
    func: exec
    schedule: "@every 1s"
    params: {command: [sh, -c, 'echo "$QUORATE_TICK $QUORATE_TOKEN $QUORATE_REPLICA" >> %s']}
`

// ticksBetween are the ticks of `@every` from one instant to another.
func ticksBetween(from, to time.Time, every time.Duration) []string {
	var ticks []string
	for at := from.Truncate(every).Add(every); !at.After(to); at = at.Add(every) {
		ticks = append(ticks, *listing.Stamp(at))
	}
	return ticks
}

// settledWithin is how long after the last trouble every tick has a row, where a
// replica lives: docs/guarantees/ledger.md, with room for a busy machine.
const settledWithin = 2 * time.Minute

// checkTruth compares the ledger with the lines in the sink and the logs of all
// processes, for the given ticks of each job.
// While processes live, rows may still come. It returns the rows by tick.
func checkTruth(t *testing.T, config string, ticks map[string][]string, sink string, lives ...*process) map[truth.Tick]listing.Tick {
	t.Helper()
	return checkTruthAfter(t, nil, config, ticks, sink, lives...)
}

// checkTruthAfter does so where a quorum hung, and went on at the given times.
func checkTruthAfter(t *testing.T, thawed []time.Time, config string, ticks map[string][]string, sink string, lives ...*process) map[truth.Tick]listing.Tick {
	t.Helper()
	began := time.Now()
	for {
		r, rows := recordOf(t, config, ticks, sink, lives)
		r.Thawed = thawed
		violations := truth.Check(r)
		if waited := time.Since(began); len(violations) == 0 {
			t.Logf("the ledger is true after %v", waited.Round(100*time.Millisecond))
			return rows
		} else if waited < settledWithin && slices.ContainsFunc(r.Lives, func(l truth.Life) bool { return l.Until.IsZero() }) {
			wait(t, time.Second)
			continue
		}
		for i, violation := range violations[:min(len(violations), 20)] {
			t.Errorf("violation %d of %d: %v", i+1, len(violations), violation)
		}
		return rows
	}
}

// recordOf reads the ledger and the logs.
func recordOf(t *testing.T, config string, ticks map[string][]string, sink string, lives []*process) (truth.Record, map[truth.Tick]listing.Tick) {
	t.Helper()
	r := truth.Record{TTL: campaignTTL, Window: campaignWindow}
	rows := map[truth.Tick]listing.Tick{}
	only := "" // the job, where lines name none
	for job, due := range ticks {
		only = job
		for _, tick := range due {
			r.Ticks = append(r.Ticks, truth.Tick{Job: job, At: moment(t, tick)})
		}
		for _, row := range list[listing.Tick](t, "ticks", job, "-c", config, "--limit", "1000") {
			told := truth.Row{
				Tick: truth.Tick{Job: job, At: moment(t, row.Tick)}, Outcome: row.Outcome, Code: string(valueOf(row.Code)),
				Token: uint64(valueOf(row.Token)), Replica: listing.Text(row.Replica), Started: listing.Time(row.Started),
			}
			r.Rows = append(r.Rows, told)
			rows[told.Tick] = row
		}
	}
	r.Read = time.Now()
	// Logs and lines are read after the rows: a replica logs each record, and a job has
	// written its line before its run has ended.
	for _, p := range lives {
		r.Lives = append(r.Lives, p.life())
		r.Forgot = r.Forgot || strings.Contains(p.log(), "blank node joined")
	}
	for _, l := range readLines(t, sink) {
		at := truth.Tick{Job: cmp.Or(l.job, only), At: moment(t, l.tick)}
		r.Sink = append(r.Sink, truth.Effect{Tick: at, Token: l.token, Replica: l.replica, Finished: l.stage != "began"})
	}
	return r, rows
}

// life is the log of the process, and its end. Another release may have other messages, so
// only its end and the sink count.
func (p *process) life() truth.Life {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := truth.Life{Replica: p.id, Foreign: true}
	if !p.other {
		l = truth.ParseLog(p.id, p.lines)
	}
	l.Until, l.Killed, l.Frozen = p.ended, p.killed, p.frozen
	return l
}

func moment(t *testing.T, stamp string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		t.Fatal(err)
	}
	return at.UTC()
}

// valueOf is *p, zero for nil.
func valueOf[T ledger.Code | locking.Token](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
