package scheduler

import (
	"errors"

	"github.com/quorate/quorate/scheduler/ledger"
)

// whole returns err unless it comes with a part of the answer.
func whole(err error) error {
	if _, partial := errors.AsType[*ledger.PartialError](err); partial {
		return nil
	}
	return err
}

// lacks tells whether an answer that came with err lacks the job with the key.
func lacks(err error, key string) bool {
	partial, ok := errors.AsType[*ledger.PartialError](err)
	return err != nil && (!ok || partial.Lacks(key))
}
