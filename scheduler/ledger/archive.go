package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/quorate/quorate/locking"
)

// MaxLog bounds what is kept of the log of one run, in bytes.
const MaxLog = 16 << 10

// ErrNoLog is what Archive.Log returns where nothing is kept.
var ErrNoLog = errors.New("no log of this run is kept")

// A Log is what one run has logged.
type Log struct {
	Job string // as in its Entry
	// Tick, the order key (Entry.OrderKey), and Token tell which run.
	Tick  time.Time
	Token locking.Token
	// Text is the end of it, in lines as slog.TextHandler writes them; Cut is how
	// many bytes went before.
	Text string
	Cut  int
	// At is when it was taken, and Run the run as far as it was known then: zero
	// once it has ended.
	At  time.Time
	Run Entry
}

// An Archive keeps what runs logged, apart from the ledger, whose listings stay
// small, and drops what a job's History does not keep, in the ledger too.
// Nothing that decides who runs a tick is in an Archive or in the ledger's
// entries: that is the claim's own memory, so dropping is safe at any time.
type Archive interface {
	// Store keeps logs of runs of the job, if any are given, and drops those of its
	// logs and ledger entries that h does not keep, oldest ticks first. The entry
	// of the newest tick always stays. It returns nil when a quorum has done so,
	// locking.ErrNoQuorum otherwise; storing again is harmless.
	Store(ctx context.Context, job string, h History, logs ...Log) error

	// Log returns what the run with that order key and token has logged; ErrNoLog
	// if nothing is kept of it, locking.ErrNoQuorum when too few nodes answered to
	// know that.
	Log(ctx context.Context, job string, tick time.Time, token locking.Token) (Log, error)
}
