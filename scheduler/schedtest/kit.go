package schedtest

import (
	"cmp"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
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
	New func(t testing.TB) scheduler.Roster
	// Lately is how long a replica stays after its last beat, at least a few
	// round trips. Default: scheduler.SeenLately.
	Lately time.Duration
}

// RunRoster checks every promise of [scheduler.Roster], one subtest each.
func RunRoster(t *testing.T, b RosterBackend) {
	t.Helper()
	b.Hooks = b.Hooks.withDefaults()
	b.Lately = cmp.Or(b.Lately, scheduler.SeenLately)
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
		{"ProcessesUnderOneID", processesUnderOneID},
		{"PublishReplacesVersions", publishReplacesVersions},
		{"AgeIsThatOfTheLastWord", ageIsThatOfTheLastWord},
		{"AccountsAreMerged", accountsAreMerged},
		{"UnpublishTakesVersionsOff", unpublishTakesVersionsOff},
		{"MoreThanOneMessage", moreThanOneMessage},
		{"EndedContextIsAnError", rosterEndedContextIsAnError},
	}
}
