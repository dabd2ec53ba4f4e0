package listing

import (
	"context"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
)

// Release takes the lock that act.Job names from its holder by force, and notes it
// in the audit log. It returns what was taken; an error after that is of the note.
func (c Control) Release(ctx context.Context, act scheduler.Act, token locking.Token) (Lock, error) {
	act.Kind = scheduler.ActRelease
	taken, err := c.Evict(ctx, act.Job, token, act.Reason)
	if err != nil {
		return taken, err
	}
	act.Result = "taken from " + holder(taken)
	return taken, c.Note(ctx, act)
}

func holder(l Lock) string {
	if l.Holder == nil {
		return "a holder that is not known"
	}
	return *l.Holder
}

// Note writes into the audit log what was done or refused without being asked of
// the cluster, where its acts are kept by a scheduler.Notebook.
func (c Control) Note(ctx context.Context, act scheduler.Act) error {
	if book, ok := c.Acts.(scheduler.Notebook); ok {
		return book.Note(ctx, act)
	}
	return nil
}
