package checker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/checker"
	"github.com/quorate/quorate/scheduler/ledger"
)

var begun = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return begun.Add(time.Duration(seconds * float64(time.Second))) }

func tick(seconds float64) checker.Tick { return checker.Tick{Job: "j", At: at(seconds)} }

// honest is a campaign with a correct ledger:
//
//	10 s  a runs it                      11 s  the run before continues
//	20 s  a is killed while it runs      25 s  a died, b starts later
//	40 s  b runs it                      50 s  b runs it, and is killed before it logs so
//	60 s  c drains before it can claim   70 s  c runs it, after a first attempt by b
//	80 s  d sleeps through it
func honest() checker.Record {
	r := checker.Record{Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second}
	ran := func(s float64, token uint64, replica string) {
		r.Rows = append(r.Rows, checker.Row{Tick: tick(s), Outcome: ledger.Succeeded, Token: token, Replica: replica})
		r.Sink = append(r.Sink, checker.Effect{Tick: tick(s), Token: token, Replica: replica}, checker.Effect{Tick: tick(s), Token: token, Replica: replica, Finished: true})
	}
	row := func(s float64, outcome ledger.Outcome, code string, token uint64, replica string) {
		r.Rows = append(r.Rows, checker.Row{Tick: tick(s), Outcome: outcome, Code: code, Token: token, Replica: replica})
	}
	won := func(s float64, token uint64) checker.Report {
		return checker.Report{Tick: tick(s), What: checker.Won, At: at(s), Token: token}
	}
	ended := func(s, end float64, token uint64) checker.Report {
		return checker.Report{Tick: tick(s), What: checker.Ended, At: at(end), Token: token, Outcome: ledger.Succeeded}
	}
	noRun := func(s float64, outcome ledger.Outcome, code string) checker.Report {
		return checker.Report{Tick: tick(s), What: checker.NoRun, At: at(s + 1), Outcome: outcome, Code: code}
	}
	ran(10, 1, "a")
	row(11, ledger.Skipped, "overlap", 0, "a")
	row(20, ledger.Interrupted, "interrupted", 2, "a")
	row(25, ledger.Missed, "no_replica", 0, "b")
	ran(40, 3, "b")
	row(50, ledger.Interrupted, "interrupted", 4, "b")
	r.Sink = append(r.Sink, checker.Effect{Tick: tick(50), Token: 4, Replica: "b", Finished: true})
	row(60, ledger.Missed, "drained", 0, "c")
	r.Sink = append(r.Sink, checker.Effect{Tick: tick(70), Token: 5, Replica: "b"})
	ran(70, 6, "c")
	row(80, ledger.Missed, "asleep", 0, "d")
	for _, row := range r.Rows {
		r.Ticks = append(r.Ticks, row.Tick)
	}
	r.Incarnations = []checker.Incarnation{
		{Replica: "a", From: at(0), Until: at(21), Killed: true, Reports: []checker.Report{won(10, 1), ended(10, 12, 1), noRun(11, ledger.Skipped, "overlap"), won(20, 2)}},
		{Replica: "b", From: at(30), Until: at(51), Killed: true, Reports: []checker.Report{noRun(25, ledger.Missed, "no_replica"), won(40, 3), ended(40, 42, 3), won(50, 4)}},
		{Replica: "c", From: at(55), Drained: at(61), Until: at(62), Reports: []checker.Report{noRun(60, ledger.Missed, "drained")}},
		{Replica: "b", From: at(69), Until: at(71), Killed: true, Reports: []checker.Report{won(70, 5)}},
		{Replica: "c", From: at(69), Drained: at(74), Until: at(75), Reports: []checker.Report{won(70, 6), ended(70, 73, 6)}},
		{Replica: "d", From: at(78), Frozen: []checker.Span{{From: at(79), To: at(90)}}, Reports: []checker.Report{noRun(80, ledger.Missed, "asleep")}},
	}
	return r
}

// row returns the row of the tick.
func row(r *checker.Record, seconds float64) *checker.Row {
	for i := range r.Rows {
		if r.Rows[i].Tick == tick(seconds) {
			return &r.Rows[i]
		}
	}
	panic("no such row")
}

// reportOf returns the first report of an incarnation on the tick.
func reportOf(r *checker.Record, incarnation int, seconds float64) *checker.Report {
	for i := range r.Incarnations[incarnation].Reports {
		if s := &r.Incarnations[incarnation].Reports[i]; s.Tick == tick(seconds) {
			return s
		}
	}
	panic("no report of the tick")
}

func TestHonestRecord(t *testing.T) {
	t.Parallel()
	for _, violation := range checker.Check(honest()) {
		t.Error(violation)
	}
}

// A run with a lost record reads as lost history.
func TestLostHistory(t *testing.T) {
	t.Parallel()
	r := honest()
	*row(&r, 40) = checker.Row{Tick: tick(40), Outcome: ledger.Missed, Code: "history_lost", Replica: "c"}
	r.Forgot = true
	if violations := checker.Check(r); len(violations) > 0 {
		t.Error(violations)
	}
}

// A job that catches up has a long window, and all replicas may drain in it.
func TestAllDrained(t *testing.T) {
	t.Parallel()
	drained := func(replica string, until float64) checker.Incarnation {
		return checker.Incarnation{Replica: replica, From: at(0), Drained: at(until), Until: at(until), Reports: []checker.Report{
			{Tick: tick(10), What: checker.NoRun, At: at(until), Outcome: ledger.Missed, Code: "drained"},
		}}
	}
	r := checker.Record{
		Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
		Rows:         []checker.Row{{Tick: tick(10), Outcome: ledger.Missed, Code: "drained", Replica: "a"}},
		Incarnations: []checker.Incarnation{drained("a", 12), drained("b", 30)},
	}
	if violations := checker.Check(r); len(violations) > 0 {
		t.Error(violations)
	}
	for name, lie := range map[string]checker.Incarnation{
		"one that decided nothing": {Replica: "b", From: at(0), Drained: at(30), Until: at(30)},
		"one that did not drain":   {Replica: "b", From: at(0), Until: at(30), Killed: true, Reports: r.Incarnations[1].Reports},
	} {
		r.Incarnations[1] = lie
		if violations := checker.Check(r); len(violations) == 0 {
			t.Errorf("%s was there: not noticed", name)
		}
	}
}

// A replica that dies while the store does not answer takes along what it has decided, and why
// it had not decided.
func TestDecisionOfTheKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		until, unstored, decided, won, again time.Time // again: unstored once more
		honest                               bool
	}{
		"it died":                     {at(17), at(13), at(11), time.Time{}, time.Time{}, true},
		"it lives":                    {time.Time{}, at(13), at(11), time.Time{}, time.Time{}, false},
		"the store took its records":  {at(17), at(10.5), at(11), time.Time{}, time.Time{}, false},
		"it died undecided":           {at(17), at(16), time.Time{}, time.Time{}, time.Time{}, true},
		"it could have decided":       {at(17), at(13), time.Time{}, time.Time{}, time.Time{}, false},
		"the store had just answered": {at(17), at(13), at(11), at(16), time.Time{}, true},
		"the store answered for long": {at(97), at(13), at(11), at(30), at(90), false},
		"the store answered briefly":  {at(40), at(13), at(11), at(30), at(31), true},
		"the store answers since":     {at(50), at(13), at(11), at(30), time.Time{}, false},
	} {
		reports := []checker.Report{{Tick: tick(9), What: checker.Unstored, At: c.unstored}}
		if !c.won.IsZero() {
			reports = append(reports, checker.Report{Tick: checker.Tick{Job: "other", At: c.won}, What: checker.Won, At: c.won, Token: 1})
		}
		if !c.again.IsZero() {
			reports = append(reports, checker.Report{Tick: tick(9), What: checker.Unstored, At: c.again})
		}
		if !c.decided.IsZero() {
			reports = append(reports, checker.Report{Tick: tick(10), What: checker.NoRun, At: c.decided, Outcome: ledger.Missed, Code: "no_quorum"})
		}
		for _, code := range []string{"unknown", "no_replica"} {
			r := checker.Record{
				Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
				Rows:         []checker.Row{{Tick: tick(10), Outcome: ledger.Missed, Code: code}},
				Incarnations: []checker.Incarnation{{Replica: "a", From: at(0), Until: c.until, Killed: true, Reports: reports}},
			}
			if violations := checker.Check(r); (len(violations) == 0) != c.honest {
				t.Errorf("%s, %s: %v", code, name, violations)
			}
		}
	}
}

// A replica that is killed as the window of a tick closes may not have recorded it.
func TestKilledAtTheEndOfAWindow(t *testing.T) {
	t.Parallel()
	for until, honest := range map[float64]bool{15.7: true, 16.3: false} {
		r := checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
			Rows:         []checker.Row{{Tick: tick(10), Outcome: ledger.Missed, Code: "unknown"}},
			Incarnations: []checker.Incarnation{{Replica: "a", From: at(0), Until: at(until), Killed: true}},
		}
		if violations := checker.Check(r); (len(violations) == 0) != honest {
			t.Errorf("killed at %v: %v", until, violations)
		}
	}
}

// Ticks that came before any replica could run one have no row.
func TestFirstTicks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code   string // that the replica gives
		won    float64
		honest bool
	}{
		"before all that ran":      {"starting", 11, true},
		"after one that ran":       {"starting", 9, false},
		"the store did not answer": {"no_quorum", 11, false},
		"it says nothing":          {"", 11, false},
	} {
		a := checker.Incarnation{Replica: "a", From: at(0), Reports: []checker.Report{{Tick: checker.Tick{Job: "other", At: at(c.won)}, What: checker.Won, At: at(c.won), Token: 1}}}
		if c.code != "" {
			a.Reports = append(a.Reports, checker.Report{Tick: tick(10), What: checker.NoRun, At: at(10.5), Outcome: ledger.Missed, Code: c.code})
		}
		r := checker.Record{Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second, Incarnations: []checker.Incarnation{a}}
		if violations := checker.Check(r); (len(violations) == 0) != c.honest {
			t.Errorf("%s: %v", name, violations)
		}
	}
}

// A killed replica may leave a lease behind without any log.
func TestLeaseOfTheKilled(t *testing.T) {
	t.Parallel()
	overlaps := func(killed bool) checker.Record {
		return checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
			Rows: []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{
				{Replica: "a", From: at(0), Until: at(9), Killed: killed},
				{Replica: "b", From: at(0), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}},
			},
		}
	}
	if violations := checker.Check(overlaps(true)); len(violations) > 0 {
		t.Errorf("after a kill: %v", violations)
	}
	if violations := checker.Check(overlaps(false)); len(violations) != 1 {
		t.Errorf("after a stop: %v", violations)
	}
}

// A replica that froze while it claimed a tick has the lease without having run anything.
func TestLeaseOfTheFrozen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		job        string
		from, to   float64 // of the freeze
		gave       float64 // when the report of the tick at 8 s was logged
		code       string
		violations int
	}{
		"it held the lease":             {"j", 8.1, 13, 13.1, "too_slow", 0},
		"it could not begin":            {"j", 8.1, 13, 13.1, "too_late", 0},
		"it did not hear the nodes":     {"j", 8.1, 13, 13.1, "no_quorum", 0},
		"it froze before the tick":      {"j", 6, 13, 13.1, "too_slow", 1},
		"it froze after it gave up":     {"j", 8.5, 13, 8.3, "too_slow", 1},
		"it claimed nothing":            {"j", 8.1, 13, 13.1, "asleep", 1},
		"it claimed a tick of another":  {"other", 8.1, 13, 13.1, "too_slow", 1},
		"it gave the claim back before": {"j", 8.1, 9.8, 9.9, "too_slow", 1},
	} {
		gave := checker.Report{Tick: checker.Tick{Job: c.job, At: at(8)}, What: checker.NoRun, At: at(c.gave), Outcome: ledger.Missed, Code: c.code}
		violations := checker.Check(checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
			Rows: []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{
				{Replica: "a", From: at(0), Frozen: []checker.Span{{From: at(c.from), To: at(c.to)}}, Reports: []checker.Report{gave}},
				{Replica: "b", From: at(0), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}},
			},
		})
		if len(violations) != c.violations {
			t.Errorf("%s: %v", name, violations)
		}
	}
}

// A lease is over when its claim was given back, and a TTL after an end that is unsure.
func TestLeaseWithoutAnEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after      []checker.Report
		violations int
	}{
		"it goes on":               {nil, 0},
		"given back in the tick":   {[]checker.Report{{What: checker.NoRun, At: at(10.5), Code: "too_late"}}, 0},
		"given back before":        {[]checker.Report{{What: checker.NoRun, At: at(9), Code: "too_late"}}, 1},
		"unsure within a TTL":      {[]checker.Report{{What: checker.Ended, At: at(8), Token: 1}, {What: checker.Unsure, At: at(8)}}, 0},
		"unsure more than a TTL":   {[]checker.Report{{What: checker.Ended, At: at(6.5), Token: 1}, {What: checker.Unsure, At: at(6.5)}}, 1},
		"the end of another claim": {[]checker.Report{{What: checker.Ended, At: at(6.5), Token: 2}}, 0},
	} {
		for i := range c.after {
			c.after[i].Tick = tick(5)
		}
		violations := checker.Check(checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second,
			Rows: []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{
				{Replica: "a", From: at(0), Reports: append([]checker.Report{{Tick: tick(5), What: checker.Won, At: at(5), Token: 1}}, c.after...)},
				{Replica: "b", From: at(0), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}},
			},
		})
		if len(violations) != c.violations {
			t.Errorf("%s: %v", name, violations)
		}
	}
}

// Nodes that hung may hold a lease for a claim that nobody runs.
func TestLeaseAfterAThaw(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		thawed     float64
		violations int
	}{{6, 1}, {8, 0}, {14, 0}, {16, 1}} {
		violations := checker.Check(checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second, Thawed: []time.Time{at(c.thawed)},
			Rows:         []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{{Replica: "b", From: at(0), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}}},
		})
		if len(violations) != c.violations {
			t.Errorf("thawed at %v s: %v", c.thawed, violations)
		}
	}
}

// Without a clock of the store, a lease lasts for a TTL after the first replica that comes has
// seen it.
func TestLeaseIsSeen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		clockless  bool
		began      float64
		violations int
	}{{false, 9, 1}, {true, 9, 0}, {true, 1.5, 1}} {
		violations := checker.Check(checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second, Clockless: c.clockless,
			Rows: []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{
				{Replica: "a", From: at(0), Until: at(1), Killed: true, Reports: []checker.Report{{Tick: tick(1), What: checker.Won, At: at(1), Token: 1}}},
				{Replica: "b", From: at(c.began), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}},
			},
		})
		if len(violations) != c.violations {
			t.Errorf("%+v: %v", c, violations)
		}
	}
}

// A lease that lacks its copies is held, and its holder does not know of it: it goes on trying,
// or has given up.
func TestUncountedLease(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tries []checker.Report
		true  bool
	}{
		"wins later":  {[]checker.Report{{What: checker.Won, At: at(16), Token: 1}, {What: checker.Ended, At: at(17), Token: 1}}, true},
		"won before":  {[]checker.Report{{What: checker.Won, At: at(9), Token: 1}, {What: checker.Ended, At: at(9.5), Token: 1}}, false},
		"gave up":     {[]checker.Report{{What: checker.NoRun, At: at(8), Code: "no_quorum"}}, true},
		"long ago":    {[]checker.Report{{What: checker.NoRun, At: at(6.5), Code: "no_quorum"}}, false},
		"knew better": {[]checker.Report{{What: checker.NoRun, At: at(8), Code: "unvouched"}}, false},
	} {
		for i := range c.tries {
			c.tries[i].Tick = tick(5)
		}
		violations := checker.Check(checker.Record{
			Ticks: []checker.Tick{tick(10)}, Read: at(100), TTL: 3 * time.Second, Window: 5 * time.Second, Uncopied: true,
			Rows: []checker.Row{{Tick: tick(10), Outcome: ledger.Skipped, Code: "overlap", Replica: "b"}},
			Incarnations: []checker.Incarnation{
				{Replica: "a", From: at(0), Reports: c.tries},
				{Replica: "b", From: at(0), Reports: []checker.Report{{Tick: tick(10), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"}}},
			},
		})
		if c.true != (len(violations) == 0) {
			t.Errorf("%s: %v", name, violations)
		}
	}
}

// A renamed job has one name in the ledger, and in the logs that of its time.
func TestRenamedJob(t *testing.T) {
	t.Parallel()
	r := honest()
	for i := range r.Ticks {
		r.Ticks[i].Job, r.Rows[i].Job = "new", "new"
	}
	if violations := checker.Check(r); len(violations) == 0 {
		t.Error("the names of two jobs are taken for one")
	}
	r.Incarnations[4].Renamed = map[string]string{"j": "new"}
	for _, violation := range checker.Check(r) {
		t.Error(violation)
	}
}

// A frozen replica finishes its work after its lease, records that it lost it, and is killed before it logs
// the end.
func TestKilledBeforeItLoggedTheEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ killed, lost bool }{{true, true}, {true, false}, {false, true}} {
		r := honest()
		row(&r, 50).Outcome, row(&r, 50).Code = ledger.LeaseLost, "lost"
		b := &r.Incarnations[1]
		b.Killed = c.killed
		if c.lost {
			b.Reports = append(b.Reports, checker.Report{Tick: tick(50), What: checker.Lost, At: at(53), Token: row(&r, 50).Token})
		}
		if violations := checker.Check(r); (len(violations) == 0) != (c.killed && c.lost) {
			t.Errorf("killed %t, lost %t: %v", c.killed, c.lost, violations)
		}
	}
}

// The log of a process of another release is unreadable. The sink still counts.
func TestForeignProcess(t *testing.T) {
	t.Parallel()
	foreign := func() checker.Record {
		r := honest()
		for i, l := range r.Incarnations {
			r.Incarnations[i] = checker.Incarnation{Replica: l.Replica, Until: l.Until, Foreign: true}
		}
		return r
	}
	for _, violation := range checker.Check(foreign()) {
		t.Error(violation)
	}
	r := foreign()
	row(&r, 10).Token = 7
	row(&r, 40).Outcome, row(&r, 40).Code, row(&r, 40).Token = ledger.Missed, "no_quorum", 0
	r.Ticks = append(r.Ticks, tick(90))
	if violations := checker.Check(r); len(violations) != 4 {
		t.Errorf("found %q, want a token, a run that was begun and finished, and a row", violations)
	}
}

// Each violation is found, and nothing else.
func TestLies(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tell func(r *checker.Record)
		want string // prefix of the only violation
	}{
		"a tick is left out": {
			func(r *checker.Record) { r.Ticks = append(r.Ticks, tick(90)) },
			"j 12:01:30: has no row; nobody logged anything of it; alive then: d",
		},
		"two rows of a tick": {
			func(r *checker.Record) { r.Rows = append(r.Rows, *row(r, 10)) },
			"j 12:00:10: has two rows: succeeded and succeeded",
		},
		"a tick that has not come": {
			func(r *checker.Record) {
				r.Rows = append(r.Rows, checker.Row{Tick: tick(3600), Outcome: ledger.Missed, Code: "no_replica", Replica: "d"})
			},
			"j 13:00:00: is missed (no_replica), but it was still to come",
		},
		"no reason": {
			func(r *checker.Record) { row(r, 25).Code, reportOf(r, 1, 25).Code = "", "" },
			"j 12:00:25: is missed without a reason",
		},
		"a reason for something else": {
			func(r *checker.Record) { row(r, 11).Outcome, reportOf(r, 0, 11).Outcome = ledger.Missed, ledger.Missed },
			"j 12:00:11: is missed for overlap, which is no reason for that",
		},
		"a success that nobody saw": {
			func(r *checker.Record) { r.Sink = r.Sink[2:] },
			"j 12:00:10: is succeeded, but the sink did not see it finish",
		},
		"a success that was only begun": {
			func(r *checker.Record) { r.Sink[1].Finished = false },
			"j 12:00:10: is succeeded, but the sink did not see it finish",
		},
		"a run that is called missed": {
			func(r *checker.Record) {
				*row(r, 10) = checker.Row{Tick: tick(10), Outcome: ledger.Missed, Code: "no_quorum", Replica: "a"}
				r.Sink = r.Sink[1:]
				r.Incarnations[0].Reports = append(r.Incarnations[0].Reports[2:], checker.Report{Tick: tick(10), What: checker.NoRun, Outcome: ledger.Missed, Code: "no_quorum"})
				r.Rows = append(r.Rows[:1:1], r.Rows[2:]...) // nothing overlaps any more
				r.Ticks = append(r.Ticks[:1:1], r.Ticks[2:]...)
			},
			"j 12:00:10: is missed (no_quorum), but the sink saw it run on a with token 1",
		},
		"a run that only a log knows": {
			func(r *checker.Record) {
				r.Incarnations[5].Reports = append(r.Incarnations[5].Reports, checker.Report{Tick: tick(80), What: checker.Ended, Token: 9, Outcome: ledger.Failed})
			},
			"j 12:01:20: is missed (asleep), but d logged a run of it, which failed",
		},
		"another token": {
			func(r *checker.Record) { row(r, 40).Token = 7 },
			"j 12:00:40: names token 7, but the sink saw b finish with token 3",
		},
		"another replica": {
			func(r *checker.Record) { row(r, 40).Replica = "a" },
			"j 12:00:40: names a, but the sink saw b finish",
		},
		"the attempt before the last": {
			func(r *checker.Record) {
				*row(r, 70) = checker.Row{Tick: tick(70), Outcome: ledger.Interrupted, Code: "interrupted", Token: 5, Replica: "b"}
				r.Incarnations[4].Reports = nil
			},
			"j 12:01:10: names token 5, but the sink saw c finish with the later token 6",
		},
		"the attempt before the last, by the log": {
			func(r *checker.Record) {
				r.Incarnations[4].Reports = append(r.Incarnations[4].Reports, checker.Report{Tick: tick(70), What: checker.Ended, Token: 8, Outcome: ledger.Failed})
			},
			"j 12:01:10: names token 6, but c logged the end of a run with the later token 8",
		},
		"interrupted, and its replica lived on": {
			func(r *checker.Record) { r.Incarnations[1].Killed = false },
			"j 12:00:50: is interrupted (interrupted), but the sink saw it finish on b",
		},
		"another outcome than was logged": {
			func(r *checker.Record) {
				reportOf(r, 0, 20).What, reportOf(r, 0, 20).Outcome = checker.Ended, ledger.Failed
			},
			"j 12:00:20: is interrupted (interrupted), but a logged its end as failed",
		},
		"running, and nobody is left": {
			func(r *checker.Record) { row(r, 20).Outcome, row(r, 20).Code = ledger.Running, "" },
			"j 12:00:20: is running, but nobody can still run it",
		},
		"running, and its end was logged": {
			func(r *checker.Record) {
				row(r, 80).Outcome, row(r, 80).Code, row(r, 80).Token = ledger.Running, "", 9
				r.Incarnations[5].Reports = []checker.Report{{Tick: tick(80), What: checker.Ended, At: at(90), Token: 9, Outcome: ledger.Failed}}
			},
			"j 12:01:20: is running, but nobody can still run it",
		},
		"a reason that was never logged": {
			func(r *checker.Record) { r.Incarnations[5].Reports = nil },
			"j 12:01:20: is missed (asleep), which d has not logged",
		},
		"another reason than was logged": {
			func(r *checker.Record) { reportOf(r, 5, 80).Code = "behind" },
			"j 12:01:20: is missed (asleep), which d has not logged",
		},
		"no replica, and one lived": {
			func(r *checker.Record) { r.Incarnations[0].Until = at(26.5) },
			"j 12:00:25: is missed (no_replica), but a was running",
		},
		"drained, and it did not": {
			func(r *checker.Record) { r.Incarnations[2].Drained = time.Time{} },
			"j 12:01:00: is missed (drained), but c did not drain",
		},
		"drained, and another was there": {
			func(r *checker.Record) { r.Incarnations[1].Until = at(66) },
			"j 12:01:00: is missed (drained), but b was there to deal with it",
		},
		"asleep before it began": {
			func(r *checker.Record) { r.Incarnations[5].From = at(85) },
			"j 12:01:20: is missed (asleep), but d was not there to sleep",
		},
		"overlap with nothing": {
			func(r *checker.Record) {
				reportOf(r, 0, 10).What, r.Incarnations[0].Reports[1].At = checker.Unsure, at(10.5)
				r.Incarnations[0].Reports[0].What = checker.Unstored
			},
			"j 12:00:11: is skipped (overlap), but no earlier run of the job was going on",
		},
		"overlap with what was over": {
			func(r *checker.Record) { r.Incarnations[0].Reports[1].At = at(10.9) },
			"j 12:00:11: is skipped (overlap), but no earlier run of the job was going on",
		},
		"lost, and nothing was": {
			func(r *checker.Record) { row(r, 25).Code, reportOf(r, 1, 25).Code = "history_lost", "history_lost" },
			"j 12:00:25: is missed (history_lost), but the nodes kept their memory",
		},
		"unknown, and one was there": {
			func(r *checker.Record) {
				row(r, 11).Outcome, row(r, 11).Code = ledger.Missed, "unknown"
				reportOf(r, 0, 11).Outcome, reportOf(r, 0, 11).Code = ledger.Missed, "unknown"
			},
			"j 12:00:11: is missed (unknown), but a replica was there to know",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := honest()
			tt.tell(&r)
			violations := checker.Check(r)
			if len(violations) != 1 || !strings.HasPrefix(violations[0].String(), tt.want) {
				t.Errorf("found %q, want only %q", violations, tt.want)
			}
		})
	}
}

// Logs of a replica are read back.
func TestParseLog(t *testing.T) {
	t.Parallel()
	l := checker.ParseLog("a", []string{
		`{"time":"2026-07-01T12:00:00Z","level":"INFO","msg":"ready"}`,
		`goroutine 1 [running]:`,
		`{"time":"2026-07-01T12:00:10.1Z","msg":"tick won","job":"j","tick":"2026-07-01T12:00:10.000Z","token":1,"votes":"5/5"}`,
		`{"time":"2026-07-01T12:00:11Z","msg":"not run here","job":"j","tick":"2026-07-01T12:00:11.000Z","outcome":"skipped","reason":"overlap: x","reason_code":"overlap"}`,
		`{"time":"2026-07-01T12:00:12Z","msg":"run ended","job":"j","tick":"2026-07-01T12:00:10.000Z","token":1,"outcome":"succeeded"}`,
		`{"time":"2026-07-01T12:00:13Z","msg":"the ledger may not have the end of the run","job":"j","tick":"2026-07-01T12:00:10.000Z","token":1,"error":"no quorum"}`,
		`{"time":"2026-07-01T12:00:14Z","msg":"draining: no new ticks"}`,
		`{"time":"2026-07-01T12:00:15Z","msg":"job renamed","job":"new","formerly":"j"}`,
	})
	waits := checker.ParseLog("b", []string{`{"time":"2026-07-01T12:00:00Z","msg":"new nodes: no tick runs before 2026-07-01T12:00:04.000Z, since"}`})
	if !waits.From.Equal(at(0)) {
		t.Errorf("a replica that waits until nodes vouch lives from %v on", waits.From)
	}
	unsure := []string{
		`{"time":"2026-07-01T12:00:00Z","level":"WARN","msg":"new nodes: no tick runs before 2026-07-01T12:00:04.000Z, since"}`,
		`{"time":"2026-07-01T12:00:01Z","level":"WARN","msg":"no job runs until the store says which service it belongs to; trying again until then"}`,
	}
	if l := checker.ParseLog("c", unsure); !l.From.IsZero() {
		t.Errorf("a replica that does not know its store lives from %v on", l.From)
	}
	unsure = append(unsure, `{"time":"2026-07-01T12:00:10.1Z","msg":"tick won","job":"j","tick":"2026-07-01T12:00:10.000Z","token":1,"votes":"5/5"}`)
	if l := checker.ParseLog("c", unsure); !l.From.Equal(at(10.1)) {
		t.Errorf("a replica that knows it by then lives from %v on", l.From)
	}
	if l.Replica != "a" || l.Renamed["j"] != "new" || !l.From.Equal(at(0)) || !l.Drained.Equal(at(14)) {
		t.Errorf("the incarnation: %+v", l)
	}
	want := []checker.Report{
		{Tick: tick(10), What: checker.Won, At: at(10.1), Token: 1},
		{Tick: tick(11), What: checker.NoRun, At: at(11), Outcome: ledger.Skipped, Code: "overlap"},
		{Tick: tick(10), What: checker.Ended, At: at(12), Token: 1, Outcome: ledger.Succeeded},
		{Tick: tick(10), What: checker.Unsure, At: at(13), Token: 1},
	}
	if len(l.Reports) != len(want) {
		t.Fatalf("reports: %+v", l.Reports)
	}
	for i, s := range l.Reports {
		if s != want[i] {
			t.Errorf("line %d: %+v, want %+v", i, s, want[i])
		}
	}
}
