package attempt

import (
	"log/slog"
	"sync"

	"github.com/quorate/quorate/locking/fence"
	"github.com/quorate/quorate/scheduler/internal/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

// refusals counts the writes of a run that guards refused as stale.
type refusals struct {
	mu    sync.Mutex
	count int
	last  fence.StaleError // the one with the largest token seen
}

// refuse handles a refusal, whatever the function does with its error.
func (c *call) refuse(e *fence.StaleError) {
	c.refused.add(*e)
	c.run.Logger.Warn("stale write refused", slog.String("resource", e.Resource), slog.Uint64("seen", uint64(e.Seen)))
	c.notify(event.Event{Kind: event.Refused, Err: e})
}

func (r *refusals) add(e fence.StaleError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count++; e.Seen >= r.last.Seen {
		r.last = e
	}
}

// account returns how many writes were refused, and reason with that added.
func (r *refusals) account(job string, reason ledger.Reason) (int, ledger.Reason) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == 0 {
		return 0, reason
	}
	sink := r.last.Resource
	if sink == job {
		sink = "the sink"
	}
	return r.count, reason.And(ledger.Reason{Code: ledger.CodeStaleWrites, Details: &ledger.Details{N: r.count, Token: r.last.Token, Of: sink, Seen: r.last.Seen}})
}
