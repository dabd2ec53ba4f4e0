package schedtest

import (
	"cmp"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// Hooks say how to run the checks of a kit.
type Hooks struct {
	// Wait lets the given time pass. Default: time.Sleep, also for synctest bubbles.
	Wait func(time.Duration)
	// Bubble, if set, runs each check; synctest.Test fits. Default: checks run in parallel.
	Bubble func(t *testing.T, check func(t *testing.T))
}

func (h Hooks) withDefaults() Hooks {
	if h.Wait == nil {
		h.Wait = time.Sleep
	}
	if h.Bubble == nil {
		h.Bubble = func(t *testing.T, check func(t *testing.T)) {
			t.Helper()
			t.Parallel() // most only wait
			check(t)
		}
	}
	return h
}

// A LedgerBackend is a kind of Ledger under test.
type LedgerBackend struct {
	Hooks
	// New makes an empty cluster: a Locker, and a Ledger that reads the Locker's notes.
	// Required.
	New func(t testing.TB) (locking.Locker, ledger.Store)
	// Long is the TTL of leases that must not expire within a check, at least 20 times
	// Short. Default: 30 s.
	Long time.Duration
	// Short is the TTL of leases that a check lets expire. Default: 300 ms.
	Short time.Duration
	// Keep bounds the ticks of one job in the ledger. Required.
	Keep int
}

func (b LedgerBackend) withDefaults() LedgerBackend {
	b.Hooks = b.Hooks.withDefaults()
	b.Long = cmp.Or(b.Long, 30*time.Second)
	b.Short = cmp.Or(b.Short, 300*time.Millisecond)
	return b
}

// RunLedger checks every promise of [ledger.Store], one subtest each.
func RunLedger(t *testing.T, b LedgerBackend) {
	t.Helper()
	b = b.withDefaults()
	for _, c := range ledgerChecks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(newLedgerBench(t, b))
			})
		})
	}
}

type ledgerCheck struct {
	name string
	run  func(*ledgerBench)
}

func ledgerChecks() []ledgerCheck {
	return []ledgerCheck{
		{"NothingIsKnownOfANewJob", nothingIsKnownOfANewJob},
		{"RecordKeepsTheEntry", recordKeepsTheEntry},
		{"HighestRecordStays", highestRecordStays},
		{"ConcurrentRecordsAgree", concurrentRecordsAgree},
		{"JobsAreApart", jobsAreApart},
		{"Bounded", bounded},
		{"EndedContextIsAnError", endedContextIsAnError},

		{"RunningWhileTheLeaseLasts", runningWhileTheLeaseLasts},
		{"FinishReplacesTheStart", finishReplacesTheStart},
		{"InterruptedOnceTheLeaseHasRunOut", interruptedOnceTheLeaseHasRunOut},
		{"FinishAfterTheLeaseRanOut", finishAfterTheLeaseRanOut},
		{"FinishAfterAnotherRun", finishAfterAnotherRun},
		{"VoidLeavesNoRun", voidLeavesNoRun},
		{"VoidedClaimsDoNotCount", voidedClaimsDoNotCount},
		{"EveryAttemptIsARun", everyAttemptIsARun},

		{"StreamsAreListedTogether", streamsAreListedTogether},
		{"RecordStaysInItsStream", recordStaysInItsStream},
		{"RunsBesideOneAnother", runsBesideOneAnother},

		{"RunHidesARecord", runHidesARecord},
		{"NewestFirst", newestFirst},
		{"PagesCoverEveryTickOnce", pagesCoverEveryTickOnce},
		{"RunsAreFoundBehindRecords", runsAreFoundBehindRecords},
		{"Selects", selects},
		{"SkimsSeveralJobs", skimsSeveralJobs},
		{"SearchFindsWhatIsNotPlain", searchFindsWhatIsNotPlain},
	}
}

// A RosterBackend is a kind of Roster under test.
type RosterBackend struct {
	Hooks
	// New makes an empty cluster and returns its roster. Required.
	New func(t testing.TB) roster.Roster
	// Lately is how long a replica stays after its last beat, at least a few
	// round trips. Default: scheduler.SeenLately.
	Lately time.Duration
}

// RunRoster checks every promise of [roster.Roster], one subtest each.
func RunRoster(t *testing.T, b RosterBackend) {
	t.Helper()
	b.Hooks = b.Hooks.withDefaults()
	b.Lately = cmp.Or(b.Lately, roster.SeenLately)
	for _, c := range rosterChecks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(&rosterBench{TB: t, RosterBackend: b, Roster: b.New(t)})
			})
		})
	}
}

type rosterCheck struct {
	name string
	run  func(*rosterBench)
}

func rosterChecks() []rosterCheck {
	return []rosterCheck{
		{"BeatAnnounces", beatAnnounces},
		{"SilentReplicaIsForgotten", silentReplicaIsForgotten},
		{"LostReplicaIsRemembered", lostReplicaIsRemembered},
		{"LeaveTakesOff", leaveTakesOff},
		{"LeftReplicaIsListed", leftReplicaIsListed},
		{"ProcessesUnderOneID", processesUnderOneID},
		{"PublishReplacesVersions", publishReplacesVersions},
		{"AgeIsThatOfTheLastWord", ageIsThatOfTheLastWord},
		{"AccountsAreMerged", accountsAreMerged},
		{"UnpublishTakesVersionsOff", unpublishTakesVersionsOff},
		{"MoreThanOneMessage", moreThanOneMessage},
		{"EndedContextIsAnError", rosterEndedContextIsAnError},
	}
}

const (
	// jobName is the job of the checks.
	jobName = "kit"
	// tries bounds how often a check repeats a read.
	tries = 40
)

// ledgerBench is one fresh cluster under test.
type ledgerBench struct {
	testing.TB
	LedgerBackend
	locker locking.Locker
	ledger ledger.Store
	base   time.Time
}

func newLedgerBench(t testing.TB, b LedgerBackend) *ledgerBench {
	t.Helper()
	// Ticks are in the past, since none may be claimed before its time.
	base := time.Now().Add(-time.Hour).Truncate(time.Second).UTC()
	bench := &ledgerBench{TB: t, LedgerBackend: b, base: base}
	bench.locker, bench.ledger = b.New(t)
	return bench
}

// tick is the n-th instant of the job.
func (b *ledgerBench) tick(n int) time.Time { return b.base.Add(time.Duration(n) * time.Second) }

// started is the note of a run's start.
func (b *ledgerBench) started(n int) ledger.Entry {
	return ledger.Entry{
		Job: jobName, Tick: b.tick(n), Trigger: ledger.BySchedule, Replica: "a",
		Outcome: ledger.Running, Started: b.tick(n).Add(5 * time.Millisecond),
	}
}

// finished is the note of a run's end.
func (b *ledgerBench) finished(n int, o ledger.Outcome) ledger.Entry {
	e := b.started(n)
	e.Outcome, e.Calls, e.Finished = o, 1, e.Started.Add(time.Minute)
	e.Votes = locking.Votes{For: 4, Of: 5}
	if o != ledger.Succeeded {
		e.Error, e.Reason = "it broke: \"x\"\n", ledger.TextReason("words of the run")
	}
	return e
}

// notRun is the record of a tick without a run.
func (b *ledgerBench) notRun(n int, o ledger.Outcome, reason string) ledger.Entry {
	return ledger.Entry{
		Job: jobName, Tick: b.tick(n), Trigger: ledger.BySchedule, Replica: "a",
		Outcome: o, Reason: ledger.TextReason(reason),
	}
}

func (b *ledgerBench) record(e ledger.Entry) {
	b.Helper()
	if err := b.tryRecord(e); err != nil {
		b.Fatalf("Record(%v) = %v", e.Tick, err)
	}
}

// tryRecord records e, and tries again if a busy machine answered too late.
func (b *ledgerBench) tryRecord(e ledger.Entry) (err error) {
	for range tries {
		if _, err = b.ledger.Record(b.Context(), e); !errors.Is(err, locking.ErrNoQuorum) {
			return err
		}
		b.Wait(b.Short / 4)
	}
	return err
}

// claim starts a run of the n-th tick.
func (b *ledgerBench) claim(n int, ttl time.Duration, mode locking.Mode) locking.Lease {
	b.Helper()
	return b.request(locking.Request{
		Name: jobName, Tick: b.tick(n), TTL: ttl, Mode: mode, Holder: "a",
		Note: ledger.EncodeNote(b.started(n)),
	})
}

// request tries until it is granted.
func (b *ledgerBench) request(req locking.Request) (lease locking.Lease) {
	b.Helper()
	var err error
	for range tries {
		if lease, err = b.locker.TryAcquire(b.Context(), req); err == nil {
			return lease
		}
		b.Wait(b.Short / 4)
	}
	b.Fatalf("claiming tick %v: %v", req.Tick, err)
	return nil
}

// end ends a run.
func (b *ledgerBench) end(l locking.Lease, e ledger.Entry) {
	b.Helper()
	if err := l.Release(b.Context(), ledger.EncodeNote(e)); err != nil {
		b.Fatalf("Release = %v", err)
	}
}

// run runs the n-th tick from start to end.
func (b *ledgerBench) run(n int) locking.Lease {
	b.Helper()
	l := b.claim(n, b.Long, locking.AtMostOnce)
	b.end(l, b.finished(n, ledger.Succeeded))
	return l
}

// of completes the expected entry of a run.
func of(l locking.Lease, e ledger.Entry) ledger.Entry {
	e.Token, e.Attempt = l.Claim().Token, l.Claim().Attempt
	return e
}

func (b *ledgerBench) runs(limit int) []ledger.Entry {
	b.Helper()
	list, err := b.ledger.Runs(b.Context(), ledger.Query{Job: jobName, Limit: limit})
	if err != nil {
		b.Fatalf("Runs = %v", err)
	}
	return list
}

func (b *ledgerBench) ticks(limit int) []ledger.Entry {
	b.Helper()
	list, err := b.ledger.Ticks(b.Context(), ledger.Query{Job: jobName, Limit: limit})
	if err != nil {
		b.Fatalf("Ticks = %v", err)
	}
	return list
}

// settle waits until all nodes know the claims and ends that have returned.
func (b *ledgerBench) settle() {
	if s, ok := b.locker.(locktest.Settler); ok {
		s.Settle()
	}
}

// wantBoth compares both listings with the entries.
func (b *ledgerBench) wantBoth(want ...ledger.Entry) {
	b.Helper()
	b.settle()
	b.want("Runs", b.runs(100), want...)
	b.want("Ticks", b.ticks(100), want...)
}

func (b *ledgerBench) want(what string, got []ledger.Entry, want ...ledger.Entry) {
	b.Helper()
	if len(got) != len(want) {
		b.Fatalf("%s returned %d entries, want %d:\n%+v", what, len(got), len(want), got)
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			b.Errorf("%s, entry %d =\n%+v, want\n%+v", what, i, got[i], want[i])
		}
	}
}

// awaitInterrupted reads until the newest run is interrupted, and returns the entry.
func (b *ledgerBench) awaitInterrupted() ledger.Entry {
	b.Helper()
	for range tries {
		if list := b.runs(1); len(list) == 1 && list[0].Outcome == ledger.Interrupted {
			return list[0]
		}
		b.Wait(b.Short / 4)
	}
	b.Fatalf("the run never reads as interrupted: %+v", b.runs(1))
	return ledger.Entry{}
}
