package scheduler

import (
	"errors"

	"github.com/quorate/quorate/scheduler/ledger"
)

// ignorePartial returns err unless it comes with a part of the answer.
func ignorePartial(err error) error {
	if _, partial := errors.AsType[*ledger.PartialError](err); partial {
		return nil
	}
	return err
}

// lacks reports whether an answer that came with err lacks the job with the key.
func lacks(err error, key string) bool {
	partial, ok := errors.AsType[*ledger.PartialError](err)
	return err != nil && (!ok || partial.Lacks(key))
}
