package fencetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

func growingTokensWrite(b *bench) {
	b.has("r", "")
	for _, token := range []locking.Token{1, 2, 7, 1 << 20, 1<<20 + 1} {
		b.accepted("r", token, fmt.Sprint("by ", token))
	}
}

func equalTokenWritesAgain(b *bench) {
	for i := range 3 {
		b.accepted("r", 7, fmt.Sprint("write ", i))
	}
}

func staleWriteIsRefused(b *bench) {
	b.accepted("r", 7, "new")
	b.refused("r", 6, 7)
	b.refused("r", 1, 7)
}

func staleWriteLeavesNoTrace(b *bench) {
	b.accepted("r", 7, "new")
	_ = b.sink.Write(b.Context(), with("r", 6), "stale")
	b.has("r", "new")
	b.accepted("r", 7, "newer")
}

// A sink remembers tokens that it has admitted, not those that it has refused.
func refusedTokenIsNotRemembered(b *bench) {
	b.accepted("r", 7, "new")
	b.refused("r", 5, 7)
	b.refused("r", 6, 7) // above the one refused, still below the one seen
	b.accepted("r", 7, "again")
	b.accepted("r", 8, "next")
	b.refused("r", 7, 8)
}

func refusalIsTold(b *bench) {
	var told []fence.StaleError
	ctx := fence.WithObserver(b.Context(), func(e *fence.StaleError) { told = append(told, *e) })
	for _, token := range []locking.Token{7, 6, 7} {
		_ = b.sink.Write(ctx, with("r", token), "value") // 6 is refused
	}
	if want := (fence.StaleError{Resource: "r", Token: 6, Seen: 7}); len(told) != 1 || told[0] != want {
		b.Errorf("the observer was told %v, want one refusal: %v", told, want)
	}
}

func resourcesAreIndependent(b *bench) {
	b.accepted("r", 7, "r by 7")
	b.accepted("s", 3, "s by 3")
	b.has("r", "r by 7")
	b.refused("r", 3, 7)
	b.accepted("s", 4, "s by 4")
	b.refused("s", 3, 4)
}

// Some stores treat such names as equal, or cut them off.
func resourceNamesAreExact(b *bench) {
	long := strings.Repeat("n", fence.MaxResource-1)
	names := []string{
		"orders", "Orders", "orders ", " orders", "ordérs", "order%73", "{orders}", "orders}", "orders/1", "orders'",
		long + "a", long + "b",
	}
	for i, name := range names {
		b.accepted(name, locking.Token(100-i), name) // falling: each would be stale for the one before
	}
	for i, name := range names {
		b.has(name, name)
		b.refused(name, locking.Token(99-i), locking.Token(100-i))
	}
}

// A sink that stores tokens as floating point or 32 bits confuses these.
func largeTokensKeepTheirDigits(b *bench) {
	for _, token := range []locking.Token{1 << 31, 1 << 32, 1<<50 + 1, fence.MaxToken - 1, fence.MaxToken} {
		b.accepted("r", token, fmt.Sprint("by ", token))
		b.refused("r", token-1, token)
	}
}

// A missing token, or one that would block the resource forever.
func noTokenIsRefused(b *bench) {
	b.accepted("r", 7, "new")
	for _, bearer := range []fence.Bearer{with("r", 0), with("r", fence.MaxToken+1), with("", 8), nil} {
		if err := b.sink.Write(b.Context(), bearer, "nobody's"); err == nil || errors.Is(err, fence.ErrStale) {
			b.Errorf("bearer %v: error %v; want one that is not ErrStale", bearer, err)
		}
		b.has("r", "new")
	}
	b.accepted("r", 8, "next")
}

// A write whose context has ended may or may not be done. The same and larger tokens
// may still write, smaller ones than were admitted may not.
func cancelledWriteUsesNothingUp(b *bench) {
	b.accepted("r", 7, "new")
	ctx, cancel := context.WithCancel(b.Context())
	cancel()
	err := b.sink.Write(ctx, with("r", 9), "cancelled")
	got, readErr := b.sink.Read(b.Context(), "r")
	if readErr != nil || got != "cancelled" && (err == nil || got != "new") {
		b.Errorf("after a cancelled write (%v), r holds %q (error %v)", err, got, readErr)
	}
	b.accepted("r", 9, "after all")
	b.refused("r", 7, 9)
	b.accepted("r", 10, "next")
}
