package acts

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// The kinds of notes that are no acts of other kinds.
const (
	Release Kind = "release" // a lock was taken from its holder
	Copy    Kind = "copy"    // the store was copied from another one
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Trigger, Backfill, Cancel, Pause, Resume, Release, Copy} }

// RefusedResult is the prefix of a refused act's result.
const RefusedResult = "refused: "

// Refused reports whether the act was refused.
func (a Act) Refused() bool { return strings.HasPrefix(a.Result, RefusedResult) }

// IsNote reports whether the act was noted: it was done or refused without a request.
func (a Act) IsNote() bool { return a.Refused() || a.Kind == Release || a.Kind == Copy }

// A Notebook is a Store that also takes notes: actions that were done or refused outside of
// acts, for readers of the audit log. A note appears in Audit only.
type Notebook interface {
	// Note writes a note with a kind and a Result: what was done or, after RefusedResult,
	// why not. The last KeepRefused refused acts are stored apart, so they do not displace
	// others. It returns locking.ErrNoQuorum when too few nodes took it.
	Note(ctx context.Context, act Act) error
}

// Noted returns a as a note of the audit log: closed at the given time, with long texts
// cut. It is for implementations.
func (a Act) Noted(at time.Time) Act {
	a.ID = "note-" + rand.Text()
	a.At = at.Truncate(time.Millisecond).UTC()
	a.By, a.Reason, a.Job, a.Tag = noted(a.By), noted(a.Reason), noted(a.Job), noted(a.Tag)
	a.Within, a.Params = 0, nil
	return a.Done(a.Result, at)
}

func noted(text string) string {
	if len(text) > MaxText {
		return strings.ToValidUTF8(text[:MaxText], "") + " …"
	}
	return text
}
