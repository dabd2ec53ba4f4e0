package schedtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// recorder takes a check's complaints instead of failing the test.
type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
}

func (r *recorder) complain(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, text)
}

func (r *recorder) Helper()                   {}
func (r *recorder) Error(args ...any)         { r.complain(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, a ...any) { r.complain(fmt.Sprintf(f, a...)) }

func (r *recorder) Fatalf(f string, a ...any) {
	r.complain(fmt.Sprintf(f, a...))
	panic(r) // unwinds the check; complaints recovers it
}

// complaints runs a check in a bubble and returns what it says.
func complaints(t *testing.T, run func(testing.TB)) []string {
	t.Helper()
	rec := &recorder{}
	synctest.Test(t, func(t *testing.T) {
		defer func() {
			if p := recover(); p != nil && p != any(rec) {
				panic(p)
			}
		}()
		rec.TB = t
		run(rec)
	})
	return rec.complaints
}

// oddLedger is a ledger that changes what goes in and what comes out.
type oddLedger struct {
	ledger.Store
	in       func(*ledger.Entry) bool // whether to keep it
	query    func(*ledger.Query)
	out      func([]ledger.Entry) []ledger.Entry
	runs     func(l ledger.Store, q ledger.Query) ([]ledger.Entry, error)
	deafened bool // ignores contexts
	skimmed  func(*ledger.Skimmed)
}

// Skim implements ledger.Skimmer.
func (o oddLedger) Skim(ctx context.Context, ask []ledger.Stretch, perTick bool) ([]ledger.Skimmed, error) {
	list, err := o.Store.(ledger.Skimmer).Skim(ctx, ask, perTick)
	for i := range list {
		if o.skimmed != nil {
			o.skimmed(&list[i])
		}
	}
	return list, err
}

// Search implements ledger.Skimmer.
func (o oddLedger) Search(ctx context.Context, ask []ledger.Stretch) ([]ledger.Skimmed, error) {
	list, err := o.Store.(ledger.Skimmer).Search(ctx, ask)
	for i := range list {
		if o.skimmed != nil {
			o.skimmed(&list[i])
		}
	}
	return list, err
}

func (o oddLedger) Record(ctx context.Context, e ledger.Entry) (first bool, err error) {
	if o.deafened {
		ctx = context.WithoutCancel(ctx)
	}
	if o.in != nil && !o.in(&e) {
		return false, nil
	}
	return o.Store.Record(ctx, e)
}

func (o oddLedger) Runs(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	if o.runs != nil {
		return o.runs(o.Store, q)
	}
	return o.list(ctx, q, o.Store.Runs)
}

func (o oddLedger) Ticks(ctx context.Context, q ledger.Query) ([]ledger.Entry, error) {
	return o.list(ctx, q, o.Store.Ticks)
}

func (o oddLedger) list(ctx context.Context, q ledger.Query, f func(context.Context, ledger.Query) ([]ledger.Entry, error)) ([]ledger.Entry, error) {
	if o.deafened {
		ctx = context.WithoutCancel(ctx)
	}
	if o.query != nil {
		o.query(&q)
	}
	list, err := f(ctx, q)
	if o.out != nil {
		list = o.out(list)
	}
	return list, err
}

// outcome replaces one outcome by another in what a ledger lists.
func outcome(from, to ledger.Outcome) oddLedger {
	return oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
		for i := range list {
			if list[i].Outcome == from {
				list[i].Outcome = to
			}
		}
		return list
	}}
}

// without leaves out what the function says.
func without(drop func(ledger.Entry) bool) oddLedger {
	return oddLedger{out: func(list []ledger.Entry) []ledger.Entry { return slices.DeleteFunc(list, drop) }}
}

type ledgerFault struct {
	ledger  oddLedger
	foundBy []string
}

func ledgerFaults() map[string]ledgerFault {
	listed := 0
	return map[string]ledgerFault{
		"invents a tick": {oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
			return append(list, ledger.Entry{Outcome: ledger.Missed})
		}}, []string{"NothingIsKnownOfANewJob", "VoidLeavesNoRun"}},
		"loses reasons": {oddLedger{in: func(e *ledger.Entry) bool {
			e.Reason = ledger.Reason{}
			return true
		}}, []string{"RecordKeepsTheEntry", "HighestRecordStays"}},
		"keeps every record": {oddLedger{in: func(e *ledger.Entry) bool {
			e.Tick = e.Tick.Add(time.Duration(e.Reason.Details.Text[len(e.Reason.Details.Text)-1]) * time.Millisecond)
			return true
		}}, []string{"ConcurrentRecordsAgree"}},
		"loses records":    {oddLedger{in: func(*ledger.Entry) bool { return false }}, []string{"Bounded", "NewestFirst"}},
		"mixes jobs":       {oddLedger{in: func(e *ledger.Entry) bool { e.Job = jobName; return true }}, []string{"JobsAreApart"}},
		"never minds time": {oddLedger{deafened: true}, []string{"EndedContextIsAnError"}},
		"drops the newest": {oddLedger{in: func(e *ledger.Entry) bool { return e.Tick.Before(time.Now().Add(-45 * time.Minute)) }}, []string{"Bounded"}},
		"running for ever": {outcome(ledger.Interrupted, ledger.Running), []string{"InterruptedOnceTheLeaseHasRunOut", "EveryAttemptIsARun"}},
		"never running":    {outcome(ledger.Running, ledger.Interrupted), []string{"RunningWhileTheLeaseLasts", "RunsBesideOneAnother"}},
		"counts what was given back": {oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
			for i := range list {
				list[i].Attempt++
			}
			return list
		}}, []string{"VoidedClaimsDoNotCount"}},
		"late finish is lost": {outcome(ledger.LeaseLost, ledger.Interrupted), []string{
			"FinishReplacesTheStart", "FinishAfterAnotherRun",
		}},
		"finish is lost": {outcome(ledger.Failed, ledger.Interrupted), []string{"FinishAfterTheLeaseRanOut"}},
		"first attempt is lost": {without(func(e ledger.Entry) bool { return e.Outcome == ledger.Interrupted }), []string{
			"EveryAttemptIsARun",
		}},
		"oldest first": {oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
			slices.Reverse(list)
			return list
		}}, []string{"NewestFirst", "RecordKeepsTheEntry"}},
		"before includes": {oddLedger{query: func(q *ledger.Query) {
			if !q.Before.IsZero() {
				q.Before = q.Before.Add(time.Millisecond)
			}
		}}, []string{"PagesCoverEveryTickOnce"}},
		"no limit": {oddLedger{query: func(q *ledger.Query) { q.Limit = 1000 }}, []string{"PagesCoverEveryTickOnce", "NewestFirst"}},
		"limit counts other ticks": {oddLedger{runs: func(l ledger.Store, q ledger.Query) ([]ledger.Entry, error) {
			list, err := l.Ticks(context.Background(), q)
			return slices.DeleteFunc(list, func(e ledger.Entry) bool { return !e.Ran() }), err
		}}, []string{"RunsAreFoundBehindRecords"}},
		"one line per nominal tick": {oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
			return slices.CompactFunc(list, func(a, b ledger.Entry) bool { return a.OrderKey().Equal(b.OrderKey()) })
		}}, []string{"StreamsAreListedTogether"}},
		"streams are one":  {oddLedger{in: func(e *ledger.Entry) bool { e.Stream = ""; return true }}, []string{"RecordStaysInItsStream"}},
		"ignores since":    {oddLedger{query: func(q *ledger.Query) { q.Since = time.Time{} }}, []string{"Selects"}},
		"forgets the rest": {oddLedger{skimmed: func(s *ledger.Skimmed) { s.Rest = time.Time{} }}, []string{"SkimsSeveralJobs", "SearchFindsWhatIsNotPlain"}},
		"reads the rest twice": {oddLedger{skimmed: func(s *ledger.Skimmed) {
			if n := len(s.Entries); n > 0 && !s.Rest.IsZero() {
				s.Rest = s.Entries[n-1].OrderKey()
			}
		}}, []string{"SkimsSeveralJobs"}},
		"records hide runs": {without(func(e ledger.Entry) bool { return e.Ran() }), []string{"RunHidesARecord"}},
		"lists nothing at first": {oddLedger{out: func(list []ledger.Entry) []ledger.Entry {
			if listed++; listed == 1 {
				return nil
			}
			return list
		}}, []string{"RunHidesARecord"}},
	}
}

// TestLedgerKitFindsFaults plants faults into a ledger that is otherwise sound,
// and wants each found, and each check to find one.
func TestLedgerKitFindsFaults(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name, f := range ledgerFaults() {
		for _, check := range f.foundBy {
			i := slices.IndexFunc(ledgerChecks(), func(c ledgerCheck) bool { return c.name == check })
			if i < 0 {
				t.Fatalf("there is no check %s", check)
			}
			found[check] = true
			said := complaints(t, func(tb testing.TB) {
				locks := new(locktest.Memory)
				f.ledger.Store = NewLedger(locks)
				bench := newLedgerBench(tb, memoryLedger().withDefaults())
				bench.locker, bench.ledger = locks, f.ledger
				ledgerChecks()[i].run(bench)
			})
			if len(said) == 0 {
				t.Errorf("%s: check %s does not see it", name, check)
			}
		}
	}
	for _, c := range ledgerChecks() {
		if !found[c.name] {
			t.Errorf("no fault shows that check %s can fail", c.name)
		}
	}
}

// oddRoster is a roster with faults.
type oddRoster struct {
	roster.Roster
	fault string
}

func (o oddRoster) Beat(ctx context.Context, self roster.Replica) ([]roster.Replica, error) {
	switch o.fault {
	case "loses the host":
		self.Host = ""
	case "one process":
		self.Instance = ""
	case "deaf":
		ctx = context.WithoutCancel(ctx)
	}
	list, err := o.Roster.Beat(ctx, self)
	if o.fault == "leaves self out" {
		list = slices.DeleteFunc(list, func(r roster.Replica) bool { return r.ID == self.ID })
	}
	return list, err
}

func (o oddRoster) Leave(ctx context.Context, self roster.Replica) error {
	if o.fault == "never forgets" {
		return nil
	}
	return o.Roster.Leave(ctx, self)
}

func (o oddRoster) Remembered(ctx context.Context) ([]roster.Replica, error) {
	if o.fault == "remembers nobody" {
		return o.Replicas(ctx)
	}
	return o.Roster.(*Roster).Remembered(ctx)
}

func (o oddRoster) Left(ctx context.Context) ([]roster.Replica, error) {
	list, err := o.Roster.(*Roster).Left(ctx)
	if o.fault == "forgets when it left" && len(list) > 0 {
		list[0].Seen = list[0].Started
	}
	return list, err
}

func (o oddRoster) Publish(ctx context.Context, jobs []roster.JobInfo) error {
	switch o.fault {
	case "one version of a job":
		known, _ := o.Jobs(ctx)
		for _, k := range known {
			if slices.ContainsFunc(jobs, func(j roster.JobInfo) bool { return k.Name == j.Name }) {
				_ = o.Roster.Unpublish(ctx, []roster.JobInfo{k})
			}
		}
	case "the last account":
		_ = o.Roster.Unpublish(ctx, jobs)
	case "one message":
		jobs = jobs[:min(len(jobs), 500)]
	}
	return o.Roster.Publish(ctx, jobs)
}

func (o oddRoster) Unpublish(ctx context.Context, jobs []roster.JobInfo) error {
	if o.fault == "never takes off" {
		return nil
	}
	return o.Roster.Unpublish(ctx, jobs)
}

func (o oddRoster) Jobs(ctx context.Context) ([]roster.JobInfo, error) {
	list, err := o.Roster.Jobs(ctx)
	for i := range list {
		if o.fault == "knows no age" {
			list[i].Age = 0
		}
	}
	return list, err
}

func TestRosterKitFindsFaults(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for fault, check := range map[string]string{
		"loses the host":       "BeatAnnounces",
		"leaves self out":      "BeatAnnounces",
		"never forgets":        "LeaveTakesOff",
		"remembers nobody":     "LostReplicaIsRemembered",
		"forgets when it left": "LeftReplicaIsListed",
		"one process":          "ProcessesUnderOneID",
		"one version of a job": "PublishReplacesVersions",
		"knows no age":         "AgeIsThatOfTheLastWord",
		"the last account":     "AccountsAreMerged",
		"never takes off":      "UnpublishTakesVersionsOff",
		"one message":          "MoreThanOneMessage",
		"deaf":                 "EndedContextIsAnError",
		"patient":              "SilentReplicaIsForgotten",
	} {
		i := slices.IndexFunc(rosterChecks(), func(c rosterCheck) bool { return c.name == check })
		if i < 0 {
			t.Fatalf("there is no check %s", check)
		}
		found[check] = true
		said := complaints(t, func(tb testing.TB) {
			b := memoryRoster()
			b.Hooks, b.Lately = b.Hooks.withDefaults(), roster.SeenLately
			if fault == "patient" {
				b.Lately /= 10 // what the kit is told, not what the roster does
			}
			rosterChecks()[i].run(&rosterBench{TB: tb, RosterBackend: b, Roster: oddRoster{new(Roster), fault}})
		})
		if len(said) == 0 {
			t.Errorf("%s: check %s does not see it", fault, check)
		}
	}
	for _, c := range rosterChecks() {
		if !found[c.name] {
			t.Errorf("no fault shows that check %s can fail", c.name)
		}
	}
}
