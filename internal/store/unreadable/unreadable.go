// Package unreadable tells of stored records that this release cannot read. A reader skips such a
// record, and everything else goes on: what the record's key says of it is listed, the replica logs
// it once, and the checks of the store count it.
package unreadable

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
)

// most bounds the records that are remembered. Further ones are not logged.
const most = 1000

// A Log has the records that could not be read. The zero value is ready to use, and logs nothing; nil
// notes nothing.
type Log struct {
	mu     sync.Mutex
	log    *slog.Logger
	failed []string // in the order of the first reading
}

// To sets where records are logged from now on.
func (l *Log) To(log *slog.Logger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log = log
}

// Skipped notes that a record was skipped, and why. It logs each record once.
func (l *Log) Skipped(record string, why error) {
	if l == nil {
		return
	}
	if len(record) > 1000 {
		record = fmt.Sprintf("%.1000s … (%d bytes)", record, len(record))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.failed, record) || len(l.failed) == most {
		return
	}
	l.failed = append(l.failed, record)
	if l.log != nil {
		l.log.Warn("a stored record cannot be read and is skipped", slog.String("record", record), slog.Any("error", why))
	}
}

// Count returns how many records were skipped, and the first.
func (l *Log) Count() (n int, first string) {
	if l == nil {
		return 0, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failed) == 0 {
		return 0, ""
	}
	return len(l.failed), l.failed[0]
}

// Entry is what listings show of a tick whose note, or other record, cannot be read.
func Entry(err error) ledger.Entry {
	why := ledger.Reason{Code: ledger.CodeUnreadable, Details: &ledger.Details{Text: fmt.Sprintf("%.1000s", err.Error())}}
	return ledger.Entry{Outcome: ledger.Unreadable, Reason: why}
}

// Command is what listings show of a command whose record cannot be read.
func Command(record string, at time.Time, err error) commands.Command {
	return commands.Command{ID: id(record), Kind: commands.Unreadable, At: at}.Done(fmt.Sprintf("the record %.300s cannot be read: %v", record, err), at)
}

// Pause is what stays in force of a pause or resume whose record cannot be read: a pause of the target
// that the command's line names, until somebody resumes it.
func Pause(line string, err error) commands.Command {
	a := commands.Command{ID: id(line), Kind: commands.Pause, By: "unknown", Reason: fmt.Sprintf("its record cannot be read: %.900s", err.Error())}
	kind, name, _ := strings.Cut(line, " ")
	switch kind {
	case "all":
		a.All = true
	case "tag":
		a.Tag = name
	default:
		a.Job = name
	}
	return a
}

func id(record string) string {
	sum := sha256.Sum256([]byte(record))
	return "unreadable-" + hex.EncodeToString(sum[:16])
}
