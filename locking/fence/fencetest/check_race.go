package fencetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

const (
	rounds  = 10 // of competition
	writers = 8  // per round, each with its own token
)

// Writers with different tokens begin at once. In the end the sink must hold the value
// of the largest token.
func largestTokenLastsUnderCompetition(b *bench) {
	for round := range rounds {
		resource, begin := fmt.Sprint("r", round), make(chan struct{})
		var all sync.WaitGroup
		for token := locking.Token(1); token <= writers; token++ {
			all.Go(func() {
				<-begin
				err := b.sink.Write(b.Context(), with(resource, token), fmt.Sprint(token))
				if err != nil && (token == writers || !errors.Is(err, fence.ErrStale)) {
					b.Errorf("token %d of %d: %v", token, writers, err)
				}
			})
		}
		close(begin)
		all.Wait()
		b.has(resource, fmt.Sprint(writers))
	}
}

// settle bounds how long a paused write waits for the next one to overtake it. A
// correct sink always uses it up, so a longer one would find no more.
const settle = 100 * time.Millisecond

// A writer is stopped between check and write. It continues when the next one has
// written, or after settle. Either way, the larger token's value must remain.
func pausedWriteIsNotOvertaken(b *bench) {
	slow, ok := b.sink.(SlowSink)
	if !ok {
		b.Skip("check and write of this sink cannot be told apart: it has no WriteSlowly")
	}
	for _, seen := range []bool{false, true} { // the first token of a resource, and a later one
		resource := fmt.Sprint("seen before: ", seen)
		if seen {
			b.accepted(resource, 3, "before")
		}
		newer := make(chan error, 1)
		paused := false
		err := slow.WriteSlowly(b.Context(), with(resource, 5), "old", func() {
			paused = true
			overtaken := make(chan struct{})
			go func() {
				defer close(overtaken)
				newer <- b.sink.Write(context.WithoutCancel(b.Context()), with(resource, 7), "new")
			}()
			select {
			case <-overtaken:
			case <-time.After(settle):
			}
		})
		if !paused {
			b.Errorf("WriteSlowly did not call pause (%v)", err)
			return
		}
		if newerErr := <-newer; newerErr != nil {
			b.Errorf("the newer write: %v (the older one: %v)", newerErr, err)
		}
		b.has(resource, "new")
		b.refused(resource, 5, 7)
	}
}
