// Package locktest holds the conformance kit that every [locking.Locker] must pass, and
// [Memory], a Locker inside one process.
//
// A backend's test is one call:
//
//	func TestConformance(t *testing.T) {
//		locktest.Run(t, locktest.Backend{New: connect, Short: 500 * time.Millisecond})
//	}
//
// [Stress] adds load: many contenders compete for one lock, and a counter shows every
// lost update.
//
// The kit uses only the interface and draws no conclusions from durations. Where a
// lease must expire, it retries a bounded number of times.
package locktest

import (
	"cmp"
	"testing"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Backend describes a kind of Locker to test.
type Backend struct {
	// New makes a new, empty cluster. It returns a function that connects another
	// replica to it. Required.
	New func(t testing.TB) (connect func(holder string) locking.Locker)
	// Long is the TTL of leases that must not expire within a check. It must be at
	// least 20 times Short. Default: 30 s.
	Long time.Duration
	// Short is the TTL of leases that a check lets expire. Default: 300 ms.
	Short time.Duration
	// Old: an answer may be a moment old. Then an attempt that another holder refuses is made once more.
	Old bool
	// Wait waits for a duration. Default: time.Sleep, also right in a synctest bubble.
	Wait func(time.Duration)
	// Bubble, if set, runs each check; synctest.Test fits. Default: checks run in parallel.
	Bubble func(t *testing.T, check func(t *testing.T))
}

func (b Backend) withDefaults() Backend {
	b.Long = cmp.Or(b.Long, 30*time.Second)
	b.Short = cmp.Or(b.Short, 300*time.Millisecond)
	if b.Wait == nil {
		b.Wait = time.Sleep
	}
	if b.Bubble == nil {
		b.Bubble = func(t *testing.T, check func(t *testing.T)) {
			t.Helper()
			t.Parallel() // most only wait
			check(t)
		}
	}
	return b
}

// A check is one promise of the contract.
type check struct {
	name string
	run  func(*bench)
}

// Run checks every promise of the locking contract, one subtest each.
func Run(t *testing.T, b Backend) {
	t.Helper()
	b = b.withDefaults()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) {
			b.Bubble(t, func(t *testing.T) {
				t.Helper()
				c.run(newBench(t, b))
			})
		})
	}
}

func checks() []check {
	return []check{
		{"ClaimSaysWhatWasGranted", claimSaysWhatWasGranted},
		{"HeldLockIsTaken", heldLockIsTaken},
		{"RefusedAttemptLeavesNothing", refusedAttemptLeavesNothing},
		{"CancelledAttemptLeavesNothing", cancelledAttemptLeavesNothing},
		{"NamesAreIndependent", namesAreIndependent},

		{"TokensGrow", tokensGrow},
		{"TokensGrowAcrossExpiry", tokensGrowAcrossExpiry},

		{"ReleasedTickIsDone", releasedTickIsDone},
		{"LaterTickClosesEarlier", laterTickClosesEarlier},
		{"AtMostOnceOutlivesTheLease", atMostOnceOutlivesTheLease},
		{"AtLeastOnceIsClaimedAgain", atLeastOnceIsClaimedAgain},
		{"HandedOverIsClaimedAgain", handedOverIsClaimedAgain},
		{"HandedOverIsNotFree", handedOverIsNotFree},
		{"StricterModeCounts", stricterModeCounts},
		{"VoidedTickIsFree", voidedTickIsFree},
		{"VoidKeepsEarlierTicksClosed", voidKeepsEarlierTicksClosed},
		{"VoidAfterReleaseChangesNothing", voidAfterReleaseChangesNothing},
		{"OneOfManyClaims", oneOfManyClaims},

		{"StreamsAreApart", streamsAreApart},
		{"StreamsShareTheLock", streamsShareTheLock},
		{"StreamsShareTheTokens", streamsShareTheTokens},
		{"StreamIsNamedWell", streamIsNamedWell},

		{"TicksRunBesideOneAnother", ticksRunBesideOneAnother},
		{"OneRunPerTickBesideOthers", oneRunPerTickBesideOthers},
		{"LockWaitsForOverlappingRuns", lockWaitsForOverlappingRuns},
		{"OverlappingRunThatRanOutIsLost", overlappingRunThatRanOutIsLost},
		{"EndedOverlappingRunIsNotExtended", endedOverlappingRunIsNotExtended},
		{"PlainLocksAreHeldByOne", plainLocksAreHeldByOne},

		{"ExtendMovesTheDeadline", extendMovesTheDeadline},
		{"ExtendWithoutTimeLeavesTheDeadline", extendWithoutTimeLeavesTheDeadline},
		{"ExtendAfterTakeoverIsLost", extendAfterTakeoverIsLost},
		{"EndedLeaseIsNotExtended", endedLeaseIsNotExtended},
		{"ExpiredLeaseIsNotExtended", expiredLeaseIsNotExtended},
		{"ReleaseTwice", releaseTwice},
		{"ReleaseAfterTakeoverIsLost", releaseAfterTakeoverIsLost},

		{"ReleaseAfterExpiry", releaseAfterExpiry},
		{"ReleaseAfterVoid", releaseAfterVoid},

		{"PlainLockExcludes", plainLockExcludes},
		{"PlainLockRunsOut", plainLockRunsOut},
		{"PlainHolderIsNamed", plainHolderIsNamed},

		{"DirectClaimIsAClaim", directClaimIsAClaim},
		{"LookChangesNothing", watched(lookChangesNothing)},
		{"LookTellsWhoClaimed", watched(lookTellsWhoClaimed)},
		{"LookTellsWhatIsFree", watched(lookTellsWhatIsFree)},
		{"LookTellsWhoIsInTheWay", watched(lookTellsWhoIsInTheWay)},

		{"AcquireOutwaitsALease", acquireOutwaitsALease},
		{"AcquireGivesUp", acquireGivesUp},
		{"AcquireEndsWithItsContext", acquireEndsWithItsContext},
		{"AcquireOrExtendKeepsWhatIsHeld", acquireOrExtendKeepsWhatIsHeld},
		{"AcquireOrExtendBeginsAnew", acquireOrExtendBeginsAnew},
		{"KeeperOutlivesTheTTL", keeperOutlivesTheTTL},
		{"MaxHoldFreesTheLock", maxHoldFreesTheLock},
		{"GroupIsAllOrNothing", groupIsAllOrNothing},
		{"GroupEndsAsOne", groupEndsAsOne},
		{"GroupIsLostAsOne", groupIsLostAsOne},
		{"GroupsDoNotDeadlock", groupsDoNotDeadlock},
	}
}
