package acts

import (
	"context"
	"errors"
)

// ErrGrace is matched by the error of a Store whose nodes are new, or have restarted, and
// may lack acts until their grace ends.
var ErrGrace = errors.New("the nodes may lack acts until their grace ends")

// A Store keeps the acts of the whole cluster. If Do has returned without an error, every
// later Open on every replica returns the act, also after all replicas were restarted. It
// may take a few seconds if another client stopped in the middle of the same act before.
//
// An act is an instruction; the Locker's claim ensures that a request runs once.
type Store interface {
	// Do stores an act and writes it into the audit log. It returns the act with its ID and
	// At. An act with a known ID is returned as it is: asking again has no effect. IDs are
	// known for at least a day; of pauses and resumes at least the latest 200.
	//
	// The error is an *Error for an invalid act, or one too many; a *ReusedIDError if the
	// ID is that of an act with another Fingerprint; locking.ErrNoQuorum when too few nodes
	// took it: then it may be done all the same.
	Do(ctx context.Context, act Act) (Act, error)

	// Open returns the acts in force. It returns locking.ErrNoQuorum when too few nodes
	// answered; the error is ErrGrace, too, if they answered but may lack acts.
	Open(ctx context.Context) (Open, error)

	// Close closes a request and stores its result in the audit log. The first result
	// stays; closing again, or an unknown ID, is harmless.
	Close(ctx context.Context, id, result string) error

	// Audit returns the latest acts, newest first.
	Audit(ctx context.Context, limit int) ([]Act, error)
}
