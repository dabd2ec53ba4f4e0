package nodes

import (
	"fmt"
	"sync"
	"time"
)

// health is whether a node is asked at all.
type health struct {
	mu      sync.Mutex
	cause   error     // why the node is down; nil while it is up
	since   time.Time // of the last failure
	probing bool      // a call was let through and has not come back
	blank   bool
	refused error // why the node must not be used, found when it was examined
	// rejected is why the node refused the latest call that it might refuse.
	rejected error
	doubted  bool      // a call failed over a key that may be the node's record
	heard    time.Time // when it answered last
	runID    string    // as INFO said last
}

// admit returns why the node is not to be called, or nil. A node that is down
// is tried by one call after the given pause; with no pause it is not.
func (h *health) admit(pause time.Duration) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refused != nil {
		return h.refused
	}
	if h.cause == nil {
		return nil
	}
	if pause > 0 && !h.probing && time.Since(h.since) >= pause {
		h.probing = true
		return nil
	}
	return fmt.Errorf("%w (last tried at %s): %w", ErrDown, h.since.UTC().Format("15:04:05.000"), h.cause)
}

// up notes an answer and tells whether the node was down.
func (h *health) up() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.cause != nil
	h.cause, h.probing, h.heard = nil, false, time.Now()
	return was
}

// down notes a failure and tells whether the node was up.
func (h *health) down(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.cause == nil
	h.cause, h.since, h.probing = err, time.Now(), false
	return was
}

// release ends a probe that was given up by its caller.
func (h *health) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
}

// setBlank notes whether the node is blank, and tells whether that is news.
func (h *health) setBlank(blank bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.blank
	h.blank = blank
	return was != blank
}

// setRefused notes why the node must not be used, nil to use it, and tells
// whether it was in use.
func (h *health) setRefused(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.refused == nil
	h.refused = err
	return was
}

// setRejected notes why the node refuses calls, nil if it does not, and tells
// whether it took them before.
func (h *health) setRejected(err error) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.rejected == nil
	h.rejected = err
	return was
}

func (h *health) setDoubted(doubted bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.doubted = doubted
}

func (h *health) setRunID(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runID = id
}

// A condition is a copy of what health holds.
type condition struct {
	cause    error
	blank    bool
	refused  error
	rejected error
	doubted  bool
	heard    time.Time
	runID    string
}

// ailing tells whether the node needs attention.
func (c condition) ailing() bool { return c.cause != nil || c.refused != nil || c.blank }

func (h *health) get() condition {
	h.mu.Lock()
	defer h.mu.Unlock()
	return condition{cause: h.cause, blank: h.blank, refused: h.refused, rejected: h.rejected, doubted: h.doubted, heard: h.heard, runID: h.runID}
}
