// Package unreadable tells of stored records that this release cannot read. A reader skips such a
// record, and everything else goes on: what the record's key says of it is listed, the replica logs
// it once, and the checks of the store count it.
package unreadable

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
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
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.failed) == 0 {
		return 0, ""
	}
	return len(l.failed), l.failed[0]
}
