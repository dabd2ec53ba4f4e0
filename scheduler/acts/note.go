package acts

import (
	"context"
	"crypto/rand"
	"strings"
	"time"
)

// Release is the kind of a note on a lock that was taken from its holder.
const Release Kind = "release"

// RefusedResult begins the result of an act that was refused.
const RefusedResult = "refused: "

// Refused tells whether the act was refused.
func (a Act) Refused() bool { return strings.HasPrefix(a.Result, RefusedResult) }

// A Notebook is a Store that also takes notes: what was done or refused without
// being asked of the cluster, for those who read the audit log. A note is in Audit
// and in nothing else.
type Notebook interface {
	// Note writes a note. It has a kind, and in Result what was done, or after
	// RefusedResult why not. Refused acts are kept apart, the last KeepRefused: they
	// drive nothing else out of the log. It returns locking.ErrNoQuorum when too few
	// nodes took it.
	Note(ctx context.Context, act Act) error
}

// Noted returns a as the audit log keeps a note that was made at the given time:
// closed, with what is too long cut. It is for implementations.
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
