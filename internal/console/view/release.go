package view

import (
	"context"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
)

// Release takes the lock that act.Job names from its holder by force, and writes that to
// the audit log. If it returns a lock and an error, only the audit log failed.
func (c Control) Release(ctx context.Context, act acts.Act, token locking.Token) (Lock, error) {
	act.Kind = acts.Release
	taken, err := c.Evict(ctx, act.Job, token, act.Reason)
	if err != nil {
		return taken, err
	}
	act.Result = "taken from " + holder(taken)
	return taken, c.Note(ctx, act)
}

func holder(l Lock) string {
	if l.Holder == nil {
		return "an unknown holder"
	}
	return *l.Holder
}

// Note writes an act to the audit log that was done or refused without a request.
func (c Control) Note(ctx context.Context, act acts.Act) error {
	if book, ok := c.Acts.(acts.Notebook); ok {
		return book.Note(ctx, act)
	}
	return nil
}
