package acts

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/acts"
)

// A Store is a [acts.Store] on a consistent store. It may be used by many goroutines. If the
// store does not answer, every method returns locking.ErrNoQuorum.
type Store struct {
	// Unreadable notes records that cannot be read.
	Unreadable *unreadable.Log

	store   kv.Store
	keep    int // acts in the audit log
	refused int // refused acts
	most    int // open requests
	pauses  int // in force

	mu   sync.Mutex
	from string // where the next reading of the queue begins; empty: at its begin
}

// New returns the acts on s. It does not call s.
func New(s kv.Store) *Store {
	return &Store{
		store: s, keep: acts.KeepAudit, refused: acts.KeepRefused,
		most: acts.MaxOpen, pauses: acts.MaxPauses,
	}
}

const (
	tries    = 30                    // of a change that others contradict
	maxPause = 64 * time.Millisecond // between two tries
)

// change commits what decide returns, and calls it again until a commit has won. So decide
// reads what became of a commit without an answer. It returns nil if nothing is left to do.
func (s *Store) change(ctx context.Context, doing string, decide func() (*kv.Txn, error)) error {
	last, unknown := fmt.Errorf("%w: too many concurrent changes; try again", locking.ErrSplit), ""
	for n := range tries {
		t, err := decide()
		if t == nil || err != nil {
			return failed(doing+unknown, err)
		}
		o, err := s.store.Commit(ctx, *t)
		switch {
		case err == nil && o.Won:
			return nil
		case err != nil && !errors.Is(err, kv.ErrUnavailable):
			return kv.Failed(doing, err)
		case kv.Unknown(err):
			last, unknown = err, ", which may still be done: check quorate audit before you retry"
		case err != nil:
			last = err
		}
		retry.After(ctx, rand.N(min(time.Millisecond<<n, maxPause)))
	}
	return fmt.Errorf("%s: %w", doing+unknown, last)
}

// failed is the error for callers: nil for none, a refused act as it is.
func failed(doing string, err error) error {
	if errors.As(err, new(*acts.Error)) || errors.As(err, new(*acts.ReusedIDError)) {
		return err
	}
	return kv.Failed(doing, err)
}

var (
	_ acts.Store    = (*Store)(nil)
	_ acts.Notebook = (*Store)(nil)
)
