package roster

import (
	"context"
	"errors"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// IgnorePartial returns err unless it comes with a part of the answer.
func IgnorePartial(err error) error {
	if _, partial := errors.AsType[*ledger.PartialError](err); partial {
		return nil
	}
	return err
}

// Lacks reports whether an answer that came with err lacks the job with the key.
func Lacks(err error, key string) bool {
	partial, ok := errors.AsType[*ledger.PartialError](err)
	return err != nil && (!ok || partial.Lacks(key))
}

// Passing reports whether a read of the ledger may succeed soon.
func Passing(err error) bool {
	return errors.Is(err, locking.ErrNoQuorum) || errors.Is(err, context.DeadlineExceeded)
}
