package fencetest

import (
	"context"
	"testing"

	"github.com/quorate/quorate/locking/fence"
)

// A Sink keeps a value per resource. Both methods are called from many
// goroutines at once.
type Sink interface {
	// Write stores the value for b's resource if b's token is not smaller than
	// the largest it has seen there, else it returns a *fence.StaleError and
	// leaves no trace.
	Write(ctx context.Context, b fence.Bearer, value string) error
	// Read returns what was stored last, "" if nothing was.
	Read(ctx context.Context, resource string) (string, error)
}

// A SlowSink is a Sink whose check can be told apart from its write. Where it
// can be, the kit stops a write between the two, as a frozen process would. A
// sink that checks and writes in one script has no such place.
type SlowSink interface {
	Sink
	// WriteSlowly is Write, and calls pause after the check and before the
	// value is stored.
	WriteSlowly(ctx context.Context, b fence.Bearer, value string, pause func()) error
}

// A check is one promise of a sink.
type check struct {
	name string
	run  func(*bench)
}

// Run checks every promise, one subtest each, on a sink of its own that has
// seen nothing.
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
