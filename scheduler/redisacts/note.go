package redisacts

import (
	"context"
	"time"

	"github.com/quorate/quorate/scheduler"
)

// keepNote is how long a note stands among the requests, for nodes that missed it
// to learn of it: releases that know no notes take it for a request that was closed.
const keepNote = time.Minute

// Note implements [scheduler.Notebook].
func (a *Acts) Note(ctx context.Context, act scheduler.Act) error {
	act = act.Noted(a.clock())
	doing := "noting a " + string(act.Kind)
	v, err := newValue(act)
	if err != nil {
		return err
	}
	if act.Refused() { // a bounded log of its own: nobody drives acts out of the other
		_, err = a.call(ctx, doing, a.lua.refuse, v.rest, v.at, a.refused)
		return err
	}
	v.state, v.line, v.last = closed, "note", 0
	v.until = act.At.Add(keepNote - keepExpired).UnixMilli()
	_, err = a.call(ctx, doing, a.lua.learn, a.keep, requestOf(act.ID), v.String())
	return err
}

var _ scheduler.Notebook = (*Acts)(nil)
