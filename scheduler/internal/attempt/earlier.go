package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/internal/job"
	"github.com/quorate/quorate/scheduler/internal/roster"
	"github.com/quorate/quorate/scheduler/ledger"
)

// EarlierTicks is what an attempt knows of the ticks before its own.
type EarlierTicks struct {
	Unsure      bool      // one may have to be rerun first
	WatchedUpTo time.Time // none up to here
	doubted     time.Time // the tick that last blocked this one
	first       job.Tick  // comes first; zero: none
}

func (h *EarlierTicks) found() bool { return h != nil && !h.first.IsZero() }

// postpone tells the loop to begin with the tick that comes first.
func (a *attempt) postpone() {
	a.end.Before = a.earlier.first
	if !a.caughtUp {
		a.end.Until = a.until
	}
}

// findTimeout bounds the question to the ledger.
const findTimeout = 5 * time.Second

// find asks the ledger, if needed, which tick comes before that of t. An error says that it
// did not answer.
func (h *EarlierTicks) find(ctx context.Context, t *task) error {
	if h == nil || !h.Unsure {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	earlier, err := t.FindRerun(ctx, t.Job, t.Tick.At)
	switch {
	case err != nil && (roster.Passing(err) || ctx.Err() != nil):
		return fmt.Errorf("ask the ledger whether an earlier run was interrupted: %w", err)
	case err != nil:
		t.cfg.Observer(event.Event{Kind: event.Unread, Entry: ledger.Entry{Job: t.Job.Name}, Err: err})
	case earlier.At.After(h.WatchedUpTo):
		h.first = earlier
	}
	h.Unsure = false
	return nil
}

// doubt makes the attempt ask the ledger before its next try, if err names an earlier tick
// of another replica that is not known here.
func (h *EarlierTicks) doubt(err error, t *task) {
	taken, ok := errors.AsType[*locking.AcquireError](err)
	if ok && h != nil && taken.Holder != t.cfg.Replica && taken.HolderTick.Before(t.Tick.At) &&
		taken.HolderTick.After(h.WatchedUpTo) && !taken.HolderTick.Equal(h.doubted) {
		h.Unsure, h.doubted = true, taken.HolderTick
	}
}
