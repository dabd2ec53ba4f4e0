package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// ErrNoLog is returned by Archive.Log if no log is stored.
var ErrNoLog = errors.New("no log of this run is kept")

// An Archive keeps the logs of runs, apart from the ledger, whose listings stay small. It
// also drops logs and ledger entries beyond a job's History. Dropping is safe at any time:
// claims do not depend on the Archive or on the ledger's entries.
type Archive interface {
	// Store stores the given logs, and drops those of the job's logs and ledger entries
	// that h does not keep, oldest ticks first. The entry of the newest tick always stays.
	// It returns nil when a quorum has done so, locking.ErrNoQuorum otherwise; storing
	// again is harmless.
	Store(ctx context.Context, job string, h History, logs ...Log) error

	// Log returns the log of the run with that order key and token; ErrNoLog if none is
	// stored, locking.ErrNoQuorum when too few nodes answered.
	Log(ctx context.Context, job string, tick time.Time, token locking.Token) (Log, error)
}
