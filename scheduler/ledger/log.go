package ledger

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quorate/quorate/internal/plainjson"
	"github.com/quorate/quorate/locking"
)

// MaxLog bounds the stored log of one run, in bytes.
const MaxLog = 16 << 10

// A Log is the log of one run.
type Log struct {
	Job string // as in its Entry
	// Tick, the order key (Entry.OrderKey), and Token identify the run.
	Tick  time.Time
	Token locking.Token
	// Text is the end of the log, in lines as slog.TextHandler writes them; Cut is the
	// number of bytes before it.
	Text string
	Cut  int
	// At is when the log was taken, and Run the run at that time; both are zero once the
	// run has ended.
	At  time.Time
	Run Entry
}

// logNote is the stored form of a Log. Job, tick and token are its storage key.
type logNote struct {
	V    int    `json:"v"`
	Cut  int    `json:"cut,omitempty"`
	Text string `json:"text"`
	// For a run in progress: when this was stored, in Unix milliseconds, and the run's note.
	At  int64           `json:"at,omitempty"`
	Run json.RawMessage `json:"run,omitempty"`
}

// logVersion is the version of the stored form of a Log. Readers refuse newer ones.
const logVersion = 1

// EncodeLog returns the stored form of l without job, tick and token.
func EncodeLog(l Log) []byte {
	n := logNote{V: logVersion, Cut: l.Cut, Text: l.Text}
	if !l.At.IsZero() {
		n.At, n.Run = l.At.UnixMilli(), EncodeNote(l.Run)
	}
	b, _ := plainjson.Marshal(n) // numbers and strings always encode
	return b
}

// DecodeLog is the inverse of EncodeLog.
func DecodeLog(b []byte) (Log, error) {
	var n logNote
	if err := json.Unmarshal(b, &n); err != nil {
		return Log{}, fmt.Errorf("decoding a log: %w", err)
	}
	if n.V > logVersion {
		return Log{}, fmt.Errorf("the log has version %d, this release reads up to %d: upgrade quorate", n.V, logVersion)
	}
	run, err := DecodeNote(n.Run)
	return Log{Text: n.Text, Cut: n.Cut, At: fromMillis(n.At), Run: run}, err
}

// Newer reports whether l was taken after other, of the same run.
func (l Log) Newer(other Log) bool {
	return !other.At.IsZero() && (l.At.IsZero() || l.At.After(other.At))
}
