package acts

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler/acts"
)

// keepNote is how long a note stays among the requests, as a closed one, so nodes that
// missed it can learn it.
const keepNote = time.Minute

// Note implements [acts.Notebook].
func (a *Acts) Note(ctx context.Context, act acts.Act) error {
	act = act.Noted(a.clock())
	doing := "noting a " + string(act.Kind)
	v, err := newValue(act)
	if err != nil {
		return err
	}
	if act.Refused() { // a log of its own, so refusals do not push acts out of the audit log
		_, err = a.call(ctx, doing, a.lua.refuse, v.rest, v.at, a.refused)
		return err
	}
	v.state, v.line, v.last = closed, "note", 0
	v.until = act.At.Add(keepNote - keepExpired).UnixMilli()
	_, err = a.call(ctx, doing, a.lua.learn, a.keep, requestOf(act.ID), v.String())
	return err
}

var _ acts.Notebook = (*Acts)(nil)
