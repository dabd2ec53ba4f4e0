package kvtest

import (
	"testing"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Backend describes a kind of store to test.
type Backend struct {
	// New makes a new, empty store. Required.
	New func(t testing.TB) kv.Store
	// NextLife makes the store begin another life, without losing anything. None: what it
	// would show is not checked.
	NextLife func(t testing.TB, s kv.Store)
	// Clockless: the answers carry no clock.
	Clockless bool
	// Rounds is the number of increments in the checks with competitors. Default 500.
	Rounds int
}

// Run checks every promise of the contract, one subtest each.
func Run(t *testing.T, b Backend) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(newBench(t, b)) })
	}
}

// A check is one promise of the contract.
type check struct {
	name string
	run  func(*bench)
}

func checks() []check {
	return []check{
		{"ReadsWhatWasCommitted", readsWhatWasCommitted},
		{"ComparesVersions", comparesVersions},
		{"ChangesAllOrNothing", changesAllOrNothing},
		{"ComparesWhatIsAbsent", comparesWhatIsAbsent},
		{"VersionsDoNotRepeat", versionsDoNotRepeat},
		{"AnotherLifeLoses", anotherLifeLoses},
		{"ListsInOrder", listsInOrder},
		{"ListsRanges", listsRanges},
		{"KeepsEveryByte", keepsEveryByte},
		{"KeepsEveryKind", keepsEveryKind},
		{"ClockAndLifeStay", clockAndLifeStay},
		{"RefusesWhatIsTooLarge", refusesWhatIsTooLarge},
		{"RefusesWrongTransactions", refusesWrongTransactions},
		{"EndedContextIsAnError", endedContextIsAnError},
		{"ErrorsSayIfUnknown", errorsSayIfUnknown},
		{"CountsExactly", countsExactly},
		{"ComparedIsLocked", comparedIsLocked},
		{"ListsOneMoment", listsOneMoment},
	}
}
