package fence_test

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

// A store in one process takes nothing from a writer that was overtaken.
func ExampleGate() {
	ctx := fence.WithObserver(context.Background(), func(e *fence.StaleError) {
		fmt.Println("refused:", e.Token, "is older than", e.Seen)
	})
	gate, stored := fence.NewGate(fence.NewMemory()), ""
	write := func(run fence.Bearer, text string) {
		_ = gate.Do(ctx, run, func() error { // the observer hears of a refusal
			stored = text
			return nil
		})
	}
	frozen := locking.Claim{Name: "report", Token: 5}
	next := locking.Claim{Name: "report", Token: 7}
	write(frozen, "by 5")
	write(next, "by 7")
	write(frozen, "by 5, much too late")
	fmt.Println("stored:", stored)
	// Output:
	// refused: 5 is older than 7
	// stored: by 7
}
