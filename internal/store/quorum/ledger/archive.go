package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h ledger.History, logs ...ledger.Log) error {
	h = h.WithDefaults()
	args := []any{h.Keep, h.MaxAge.Milliseconds(), max(h.MaxBytes, 0)}
	for _, log := range logs {
		args = append(args, logName(log.Tick, log.Token), ledger.EncodeLog(log))
	}
	keys := []string{l.set.JobKey(job, "runs"), l.set.JobKey(job, "notes"), l.set.JobKey(job, "logs")}
	_, err := answers(l.set, "storing a log of "+job, l.set.Call(ctx, l.lua.store, keys, args...))
	return err
}

// logName names a run among those of its job.
func logName(tick time.Time, token locking.Token) string {
	return strconv.FormatInt(tick.UnixMilli(), 10) + "." + strconv.FormatUint(uint64(token), 10)
}

// Log implements [ledger.Archive]. One node that has the log is enough. Of several
// versions the last one stored wins: a run in progress stores its log repeatedly, and
// not every node has the final version.
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (ledger.Log, error) {
	doing := "reading a log of " + job
	replies := l.set.Call(ctx, l.lua.log, []string{l.set.JobKey(job, "logs")}, logName(tick, token))
	var log ledger.Log
	found, unread := false, error(nil)
	for _, r := range replies {
		if r.Err != nil || r.Code != "OK" {
			continue
		}
		stored, err := ledger.DecodeLog([]byte(r.Arg(0)))
		if err != nil {
			l.Unreadable.Skipped("log "+job+" "+logName(tick, token), err)
			unread = fmt.Errorf("%s: %s: %w", doing, r.Node, err)
			continue
		}
		if !found || stored.Newer(log) {
			found, log = true, stored
		}
	}
	if !found && unread != nil {
		return ledger.Log{}, unread
	}
	if !found {
		if _, err := answers(l.set, doing, replies); err != nil {
			return ledger.Log{}, err
		}
		return ledger.Log{}, ledger.ErrNoLog
	}
	log.Job, log.Tick, log.Token = job, tick, token
	l.nameNodes(&log.Run)
	return log, nil
}

// nameNodes adds the names of the nodes to their answers, if the list is this one.
func (l *Ledger) nameNodes(e *ledger.Entry) {
	if e.Poll.List == l.list {
		e.Poll.Names = l.names
	}
}

var _ ledger.Archive = (*Ledger)(nil)
