package finishtx

import (
	"context"
	"errors"
	"fmt"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/fence"
)

var (
	// ErrNoClaim means that the database of the transaction does not know the run, and no other
	// claim has excluded it.
	ErrNoClaim = errors.New("the database has no claim of this run")
	// ErrEnded means that the run has ended already.
	ErrEnded = errors.New("the run has ended already")
)

// Excluded is the error of a run that another claim excludes.
type Excluded struct{ Seen uint64 } // the token that the job has seen

func (e Excluded) Error() string { return fmt.Sprintf("the job has seen token %d", e.Seen) }

// Do ends a run with what put writes into a transaction of its function. Errors of put match one of
// this package, or are those of the database. What Do returns is for the function.
func Do(ctx context.Context, run fence.Bearer, put func(End) error) error {
	prepare := From(ctx)
	if prepare == nil {
		return errors.New("finishing a run: the context is not that of a run: use the one that the function was called with")
	}
	end, err := prepare()
	if err != nil {
		return fmt.Errorf("finishing a run: %w", err)
	}
	if resource, token := run.Fence(); resource != end.Job || uint64(token) != end.Token {
		return fmt.Errorf("finishing a run: token %d of %s is not that of the context: pass the run that the function was called with", token, resource)
	}
	if err = put(end); err == nil {
		return nil
	}
	err = fmt.Errorf("finishing the run of %s with token %d: %w", end.Job, end.Token, err)
	if other, is := errors.AsType[Excluded](err); is {
		return end.stale(ctx, other.Seen)
	}
	if errors.Is(err, ErrNoClaim) {
		return end.why(ctx, err)
	}
	return err
}

func (e End) stale(ctx context.Context, seen uint64) error {
	return fence.Refused(ctx, &fence.StaleError{Resource: e.Job, Token: locking.Token(e.Token), Seen: locking.Token(seen)})
}

// why is the error for a claim that the database of the transaction does not have. The store of
// the replica tells.
func (e End) why(ctx context.Context, err error) error {
	has, seen, failed := e.Look(ctx)
	switch {
	case failed != nil:
		return fmt.Errorf("%w, and Quorate's store could not be asked why (%w)", err, failed)
	case has:
		return fmt.Errorf("%w, and Quorate's store has it: begin the transaction in the database of the store, after the run has begun", err)
	case seen > 0:
		return e.stale(ctx, seen)
	}
	return fmt.Errorf("%w, and neither has Quorate's store: the job was forgotten, or a failover has lost the claim", err)
}
