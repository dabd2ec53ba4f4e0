package redisledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/redlock/nodes"
	"github.com/quorate/quorate/scheduler"
)

// storedLog is the stored form of a log. Job, tick and token are in its key.
type storedLog struct {
	V    int    `json:"v"`
	Cut  int    `json:"cut,omitempty"`
	Text string `json:"text"`
}

// logVersion is the version of the stored form of a log. A reader refuses a
// newer one and says so.
const logVersion = 1

// Store implements [scheduler.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h scheduler.History, logs ...scheduler.Log) error {
	h = h.WithDefaults()
	args := []any{h.Keep, h.MaxAge.Milliseconds(), max(h.MaxBytes, 0)}
	for _, log := range logs {
		b, err := json.Marshal(storedLog{V: logVersion, Cut: log.Cut, Text: log.Text})
		if err != nil {
			return fmt.Errorf("encoding a log of %s: %w", job, err)
		}
		args = append(args, logName(log.Tick, log.Token), b)
	}
	keys := []string{l.set.JobKey(job, "runs"), l.set.JobKey(job, "logs")}
	_, err := answers(l.set, "storing a log of "+job, l.set.Call(ctx, l.lua.store, keys, args...))
	return err
}

// logName names a run among those of its job.
func logName(tick time.Time, token locking.Token) string {
	return strconv.FormatInt(tick.UnixMilli(), 10) + "." + strconv.FormatUint(uint64(token), 10)
}

// Log implements [scheduler.Archive]. One node that has the log is enough.
func (l *Ledger) Log(ctx context.Context, job string, tick time.Time, token locking.Token) (scheduler.Log, error) {
	log := scheduler.Log{Job: job, Tick: tick, Token: token}
	doing := "reading a log of " + job
	replies := l.set.Call(ctx, l.lua.log, []string{l.set.JobKey(job, "logs")}, logName(tick, token))
	for _, r := range replies {
		if r.Err != nil || r.Code != "OK" {
			continue
		}
		var err error
		if log.Text, log.Cut, err = decodeLog(r); err != nil {
			return scheduler.Log{}, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
		}
		return log, nil
	}
	if _, err := answers(l.set, doing, replies); err != nil {
		return scheduler.Log{}, err
	}
	return scheduler.Log{}, scheduler.ErrNoLog
}

// decodeLog returns the text that a node has stored, and how much went before.
func decodeLog(r nodes.Reply) (text string, cut int, err error) {
	var stored storedLog
	if err := json.Unmarshal([]byte(r.Arg(0)), &stored); err != nil {
		return "", 0, err
	}
	if stored.V > logVersion {
		return "", 0, fmt.Errorf("the log has version %d, this release reads up to %d: upgrade quorate", stored.V, logVersion)
	}
	return stored.Text, stored.Cut, nil
}

var _ scheduler.Archive = (*Ledger)(nil)
