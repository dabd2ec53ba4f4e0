package acts

import (
	"context"
	"fmt"

	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/quorum/transfer"
	"github.com/quorate/quorate/scheduler/acts"
)

// NewSealed returns acts that can also be written to nodes that are sealed for a copy.
func NewSealed(set *membership.Set) *Acts {
	a := New(set)
	a.lua.learn = a.lua.learn.AcceptSealed()
	return a
}

// Copy stores the acts of another store, in the order of their times.
func (a *Acts) Copy(ctx context.Context, list []acts.Act) error {
	var logged []transfer.Value
	for _, act := range list {
		v, err := newValue(act)
		if err != nil {
			return err
		}
		log := "audit"
		if act.Refused() {
			log = "refused"
		}
		logged = append(logged, transfer.Value{Key: a.set.Key(log), Score: fmt.Sprint(v.at), Text: v.rest})
		if act.IsNote() {
			continue
		}
		if err := a.storeAll(ctx, "copying the acts", act, true); err != nil {
			return err
		}
	}
	return transfer.Put(ctx, a.set, logged)
}
