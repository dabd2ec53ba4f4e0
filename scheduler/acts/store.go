package acts

import "context"

// A Store keeps what was asked of the whole cluster: to run a job now, to pause it,
// to run ticks of the past, to stop a run. What Do has returned without an error
// is in what every later Open returns, on every replica, also after all of them
// were restarted; a few seconds later where somebody fell silent in the middle of
// asking for the same before.
//
// A Store says what is to be tried. That a request runs once is the Locker's claim.
type Store interface {
	// Do makes an act known and writes it into the audit log. It returns the act
	// with its ID and At. An act whose ID is known already is returned as it
	// stands: asking twice, one after the other, is asking once. IDs are known for
	// a day or longer; of pauses and resumes those of the latest 200 at least.
	//
	// The error is an *Error for an act that is not valid, or one too many; a
	// *ReusedIDError if the ID is that of an act with another Fingerprint;
	// locking.ErrNoQuorum when too few nodes took it, in which case it may be
	// done all the same.
	Do(ctx context.Context, act Act) (Act, error)

	// Open returns what is in force. It returns locking.ErrNoQuorum when too few
	// nodes answered to be sure of it, as a *ledger.PartialError if there is some of which
	// it is.
	Open(ctx context.Context) (Open, error)

	// Close takes a request off and notes in the audit log what became of it. The
	// first result stays; closing again, or what is not known, is harmless.
	Close(ctx context.Context, id, result string) error

	// Audit returns the latest acts, newest first, at most so many.
	Audit(ctx context.Context, limit int) ([]Act, error)
}
