package redisledger

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/quorate/quorate/internal/redlock/members"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

// storedLog is the stored form of a log. Job, tick and token are in its key.
type storedLog struct {
	V    int    `json:"v"`
	Cut  int    `json:"cut,omitempty"`
	Text string `json:"text"`
	// For a run in progress: when this was stored, and the run's note.
	At  int64           `json:"at,omitempty"`
	Run json.RawMessage `json:"run,omitempty"`
}

// logVersion is the version of the stored form of a log. A reader refuses newer ones.
const logVersion = 1

// Store implements [ledger.Archive].
func (l *Ledger) Store(ctx context.Context, job string, h ledger.History, logs ...ledger.Log) error {
	h = h.WithDefaults()
	args := []any{h.Keep, h.MaxAge.Milliseconds(), max(h.MaxBytes, 0)}
	for _, log := range logs {
		stored := storedLog{V: logVersion, Cut: log.Cut, Text: log.Text}
		if !log.At.IsZero() {
			stored.At, stored.Run = log.At.UnixMilli(), ledger.EncodeNote(log.Run)
		}
		b, err := json.Marshal(stored)
		if err != nil {
			return fmt.Errorf("encoding a log of %s: %w", job, err)
		}
		args = append(args, logName(log.Tick, log.Token), b)
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
	var best storedLog
	for _, r := range replies {
		if r.Err != nil || r.Code != "OK" {
			continue
		}
		stored, err := decodeLog(r)
		if err != nil {
			return ledger.Log{}, fmt.Errorf("%s: %s: %w", doing, r.Node, err)
		}
		if best.V == 0 || stored.after(best) {
			best = stored
		}
	}
	if best.V == 0 {
		if _, err := answers(l.set, doing, replies); err != nil {
			return ledger.Log{}, err
		}
		return ledger.Log{}, ledger.ErrNoLog
	}
	log := ledger.Log{Job: job, Tick: tick, Token: token, Text: best.Text, Cut: best.Cut}
	if best.At == 0 {
		return log, nil
	}
	log.At = time.UnixMilli(best.At).UTC()
	var err error
	if log.Run, err = ledger.DecodeNote(best.Run); err != nil {
		return ledger.Log{}, fmt.Errorf("%s: %w", doing, err)
	}
	l.nameNodes(&log.Run)
	return log, nil
}

// after reports whether s was stored after other, of the same run. A log without a time
// is that of the end.
func (s storedLog) after(other storedLog) bool {
	if s.At == 0 || other.At == 0 {
		return s.At < other.At
	}
	return s.At > other.At
}

// decodeLog returns the log in a node's reply.
func decodeLog(r members.Reply) (stored storedLog, err error) {
	if err := json.Unmarshal([]byte(r.Arg(0)), &stored); err != nil {
		return storedLog{}, err
	}
	if stored.V > logVersion {
		return storedLog{}, fmt.Errorf("the log has version %d, this release reads up to %d: upgrade quorate", stored.V, logVersion)
	}
	return stored, nil
}

// nameNodes adds the names of the nodes to their answers, if the list is this one.
func (l *Ledger) nameNodes(e *ledger.Entry) {
	if e.Poll.List == l.list {
		e.Poll.Names = l.names
	}
}

var _ ledger.Archive = (*Ledger)(nil)
