package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// errBusy is why a statement did not begin: another one holds a lock.
var errBusy = errors.New("another transaction or process holds a lock")

// code is that of SQLite with its extension, 0 if err is none.
func code(err error) int {
	if answer, ok := errors.AsType[*sqlite.Error](err); ok {
		return answer.Code()
	}
	return 0
}

// family is a code without its extension.
func family(code int) int { return code & 0xff }

// isBusy reports whether a lock was held. A read transaction that cannot write any more because
// others have written is another matter: to wait does not help it.
func isBusy(err error) bool {
	c := code(err)
	return errors.Is(err, errBusy) || family(c) == codes.SQLITE_BUSY && c != codes.SQLITE_BUSY_SNAPSHOT
}

// Pauses between two tries to get a lock: as short as a commit takes, and random, so that nobody who
// waits is always late. They do not grow: those that wait longest would then try least.
const (
	shortestPause = 200 * time.Microsecond
	longestPause  = 1500 * time.Microsecond
)

// whileBusy calls do until it gets the lock that it needs, or ctx ends.
func whileBusy(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !isBusy(err) {
			return err
		}
		if !retry.Sleep(ctx, shortestPause+rand.N(longestPause-shortestPause)) {
			return err
		}
	}
}

// Undone implements [sqlstore.Dialect]: the transaction was certainly rolled back, or has never begun, by
// an accident that need not happen again.
func (d *dialect) Undone(err error) bool {
	return isBusy(err) || code(err) == codes.SQLITE_BUSY_SNAPSHOT
}

// Failure implements [sqlstore.Dialect].
func (d *dialect) Failure(ctx context.Context, call string, err error) error {
	err = oneLine{retry.Ended(ctx, err)}
	unsent := errors.As(err, new(groups.Unsent))
	c := code(err)
	switch family(c) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		if !errors.Is(err, errBusy) { // which says it better
			err = fmt.Errorf("another process writes: %w", err)
		}
		err = meaning{err, kv.ErrLocked}
	case codes.SQLITE_FULL:
		err = fmt.Errorf("the disk or a quota is full: free some space (%w)", err)
	case codes.SQLITE_READONLY, codes.SQLITE_PERM, codes.SQLITE_AUTH:
		err = meaning{fmt.Errorf("it cannot be written: give the file, its -wal, its -shm and the directory to the user that runs this program, on a file system that is not mounted read-only (%w)", err), kv.ErrNotReady}
	case codes.SQLITE_CANTOPEN:
		err = meaning{fmt.Errorf("it cannot be opened: give the file, its -wal, its -shm and the directory to the user that runs this program (%w)", err), kv.ErrNotReady}
	case codes.SQLITE_NOTADB:
		err = meaning{fmt.Errorf("it is not a database of SQLite: choose another path (%w)", err), kv.ErrNotReady}
	case codes.SQLITE_CORRUPT:
		err = meaning{fmt.Errorf("SQLite says that the file is damaged: if `store check` finds it damaged, too, end all processes that use it, put a backup in its place without -wal and -shm, and start them again (%w)", err), kv.ErrNotReady}
	case codes.SQLITE_IOERR:
		err = meaning{fmt.Errorf("the disk fails: look at the kernel's log, and restore a backup on another disk (%w)", err), unknownUnless(unsent)}
	case codes.SQLITE_NOMEM:
		err = meaning{fmt.Errorf("there is too little memory: give this program more (%w)", err), unknownUnless(unsent)}
	default:
		err = d.otherFailure(err, unsent)
	}
	return fmt.Errorf("sqlite: %s: %s: %w", d.path, call, err)
}

// otherFailure is that of a call without an answer of SQLite.
func (d *dialect) otherFailure(err error, unsent bool) error {
	switch {
	case errors.Is(err, kv.ErrUnavailable), errors.Is(err, kv.ErrNotReady):
		return err
	case errors.Is(err, errBusy):
		return meaning{err, kv.ErrLocked}
	case unsent, code(err) == 0:
		return fmt.Errorf("%w: %w", unknownUnless(unsent), err)
	}
	return err
}

// unknownUnless is what a failure means for a transaction.
func unknownUnless(unsent bool) error {
	if unsent {
		return kv.ErrNotSent
	}
	return kv.ErrUnavailable
}

// meaning gives err a meaning besides: a kind, without the words of that.
type meaning struct {
	error
	kind error
}

func (e meaning) Unwrap() []error { return []error{e.error, e.kind} }

// oneLine is an error whose text has one line.
type oneLine struct{ error }

func (e oneLine) Error() string { return strings.ReplaceAll(e.error.Error(), "\n", "; ") }

func (e oneLine) Unwrap() error { return e.error }
