package acts

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/scheduler/acts"
)

// Close implements [acts.Store].
func (a *Acts) Close(ctx context.Context, id, result string) error {
	doing := "closing request " + id
	all, err := a.find(ctx, doing, requestOf(id))
	if err != nil || len(all) == 0 {
		return err
	}
	act, err := furthest(all).act()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if act.Closed.IsZero() {
		act = act.Done(result, a.clock())
	}
	return a.storeAll(ctx, doing, act, false)
}

// Audit implements [acts.Store].
func (a *Acts) Audit(ctx context.Context, limit int) ([]acts.Act, error) {
	const doing = "reading the audit log"
	replies, err := a.call(ctx, doing, a.lua.audit, limit)
	if err != nil {
		return nil, err
	}
	known := map[string]acts.Act{}
	for _, r := range replies {
		for _, text := range r.Args {
			act, err := acts.Decode([]byte(text))
			if err != nil {
				name := fmt.Sprintf("audit %.100q", text)
				a.Unreadable.Skipped(name, err)
				act = unreadable.Act(name, time.Time{}, err)
			}
			if have, twice := known[act.ID]; !twice || have.Closed.IsZero() {
				known[act.ID] = act
			}
		}
	}
	list := make([]acts.Act, 0, len(known))
	for _, act := range known {
		list = append(list, act)
	}
	acts.Sort(list)
	slices.Reverse(list)
	return list[:min(len(list), limit)], nil
}
