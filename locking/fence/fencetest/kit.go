package fencetest

import (
	"context"
	"testing"

	"github.com/quorate/quorate/locking/fence"
)

// A Sink stores a value per resource. Both methods are called from many goroutines at
// once.
type Sink interface {
	// Write stores the value for b's resource unless b's token is smaller than the
	// largest seen there. Then it returns a *fence.StaleError and changes nothing.
	Write(ctx context.Context, b fence.Bearer, value string) error
	// Read returns the last stored value, "" if there is none.
	Read(ctx context.Context, resource string) (string, error)
}

// A SlowSink is a Sink with a check separate from its write. The kit stops a write
// between the two, as a frozen process would. A sink that checks and writes in one
// script is none.
type SlowSink interface {
	Sink
	// WriteSlowly is Write, but calls pause between the check and the store.
	WriteSlowly(ctx context.Context, b fence.Bearer, value string, pause func()) error
}

// A check is one promise of a sink.
type check struct {
	name string
	run  func(*bench)
}

// Run checks every promise in a subtest of its own, on a new sink.
func Run(t *testing.T, sink func(t testing.TB) Sink) {
	t.Helper()
	for _, c := range checks() {
		t.Run(c.name, func(t *testing.T) { c.run(&bench{TB: t, sink: sink(t)}) })
	}
}

func checks() []check {
	return []check{
		{"GrowingTokensWrite", growingTokensWrite},
		{"EqualTokenWritesAgain", equalTokenWritesAgain},
		{"StaleWriteIsRefused", staleWriteIsRefused},
		{"StaleWriteLeavesNoTrace", staleWriteLeavesNoTrace},
		{"RefusedTokenIsNotRemembered", refusedTokenIsNotRemembered},
		{"RefusalIsTold", refusalIsTold},
		{"ResourcesAreIndependent", resourcesAreIndependent},
		{"ResourceNamesAreExact", resourceNamesAreExact},
		{"LargeTokensKeepTheirDigits", largeTokensKeepTheirDigits},
		{"NoTokenIsRefused", noTokenIsRefused},
		{"CancelledWriteUsesNothingUp", cancelledWriteUsesNothingUp},
		{"LargestTokenLastsUnderCompetition", largestTokenLastsUnderCompetition},
		{"PausedWriteIsNotOvertaken", pausedWriteIsNotOvertaken},
	}
}
