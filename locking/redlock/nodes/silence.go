package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLate: the request was not answered in time, but that is no sign of a node
// that is down. It may have taken effect, or may yet.
var errLate = errors.New("the request was answered too late, or not at all, while the node was up")

// judge notes that the node answered, or tells what it means that it did not. A
// node is silent if nothing of it has arrived while a request was under way until
// its timeout: an answer to any other since then is a sign of life, and a process
// that wakes up long after its own deadline was too busy to hear. Silence is an
// error too, nil if there is none. The wire's mutex is held.
func (w *wire) judge(start, end time.Time, err error) (outcome, silence error) {
	if answered(err) {
		w.heard = end
		return err, nil
	}
	took := end.Sub(start)
	switch {
	case took <= w.timeout/2 || neverAsked(err):
		return err, nil // the connection broke, or there was none
	case w.heard.After(start) || took > w.timeout+w.timeout/4:
		return fmt.Errorf("%w: %w", errLate, err), nil
	}
	return err, err
}

// note is judge for a request that shares no lane.
func (w *wire) note(ctx context.Context, start time.Time, err error) error {
	if err != nil {
		err = callError(ctx, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	err, _ = w.judge(start, time.Now(), err)
	return err
}

// answered tells whether the node's server said anything at all.
func answered(err error) bool {
	if err == nil {
		return true
	}
	_, said := errors.AsType[*ServerError](err)
	return said
}
