// Package commands keeps the commands of package scheduler/commands on a consistent store. All its
// records are commands, of the kind kv.Commands, each under several keys:
//
//	act ID           every command
//	audit TIME ID    every command and note, newest first
//	refused TIME ID  a refused command, newest first
//	open ID          an open request
//	line SERIES      the latest request of a series of commands
//	pause TARGET     the latest pause or resume of a target
//	places N         the open requests that have some of the places
//	queue ID         a request without an instant, made by an application's transaction
//
// A new command compares the record of its ID, so it is made once. It replaces the latest command of
// its series, and its instant lies after that: so a commit that arrives after a later command of
// the series loses.
//
// A transaction of an application only queues its request. Else it would hold back all
// requests of the series until it ends, or a later one could overtake it. Readers make queued
// requests commands.
//
// One new command in many deletes what is old. A new request takes a place, so requests at the same time do not
// exceed their bound. That of pauses is checked against what was read: competing ones may exceed it.
package commands

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
)

// A Store is a [commands.Store] on a consistent store. It may be used by many goroutines. If the
// store does not answer, every method returns locking.ErrNoQuorum.
type Store struct {
	// Unreadable notes records that cannot be read.
	Unreadable *unreadable.Log

	store   kv.Store
	keep    int // commands in the audit log
	refused int // refused commands
	most    int // open requests
	pauses  int // in force

	mu   sync.Mutex
	from string // where the next reading of the queue begins; empty: at its begin
}

// New returns the commands on s. It does not call s.
func New(s kv.Store) *Store {
	return &Store{
		store: s, keep: commands.KeepAudit, refused: commands.KeepRefused,
		most: commands.MaxOpen, pauses: commands.MaxPauses,
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
		retry.Sleep(ctx, rand.N(min(time.Millisecond<<n, maxPause)))
	}
	return fmt.Errorf("%s: %w", doing+unknown, last)
}

// failed is the error for callers: nil for none, a refused command as it is.
func failed(doing string, err error) error {
	if errors.As(err, new(*commands.Error)) || errors.As(err, new(*commands.ReusedIDError)) {
		return err
	}
	return kv.Failed(doing, err)
}

var (
	_ commands.Store    = (*Store)(nil)
	_ commands.Notebook = (*Store)(nil)
)

// keep is how long at least IDs are known, and expired requests are listed. No commit is
// under way for as long.
const keep = 24 * time.Hour

func key(name, sub string) kv.Key {
	return kv.Key{Kind: kv.Commands, Name: name, Sub: url.PathEscape(sub)}
}

// logKey is the key of a command in a log.
func logKey(log string, a commands.Command) kv.Key {
	return kv.Key{Kind: kv.Commands, Name: log, Sub: records.EntryOrder(a.At.UnixMilli()) + " " + url.PathEscape(a.ID)}
}

// idOf is the key by ID of a command in a log.
func idOf(inLog kv.Key) kv.Key {
	_, id, _ := strings.Cut(inLog.Sub, " ")
	return kv.Key{Kind: kv.Commands, Name: "act", Sub: id}
}

// seriesKey is the key of the latest command of the series.
func seriesKey(a commands.Command) kv.Key {
	if a.Kind.Request() {
		return key("line", a.Series())
	}
	return key("pause", a.Series())
}

// put makes t write the command under each of the keys.
func put(t *kv.Txn, a commands.Command, keys ...kv.Key) error {
	text, err := a.Encode()
	for _, k := range keys {
		t.Put = append(t.Put, kv.Write{Key: k, Value: text})
	}
	return err
}

// decode returns the commands that can be read, and unread what listings show of the others.
func (s *Store) decode(list []kv.Record) (all, unread []commands.Command) {
	all = make([]commands.Command, 0, len(list))
	for _, r := range list {
		command, err := commands.Decode(r.Value)
		if err == nil {
			all = append(all, command)
			continue
		}
		s.Unreadable.Skipped(r.Key.String(), err)
		order, _, _ := strings.Cut(r.Key.Sub, " ")
		unread = append(unread, unreadable.Command(r.Key.String(), time.UnixMilli(records.MilliOf(order)).UTC(), err))
	}
	return all, unread
}

// Copied returns what stores the commands of another store, in the order of their times. Of
// two writes with the same key the last counts.
func Copied(list []commands.Command) ([]kv.Write, error) {
	var t kv.Txn
	for _, a := range list {
		keys := []kv.Key{logKey("audit", a)}
		switch {
		case a.Refused():
			keys = []kv.Key{logKey("refused", a)}
		case !a.IsNote():
			keys = append(keys, key("act", a.ID), seriesKey(a))
		}
		if a.Kind.Request() && !a.Refused() && a.Closed.IsZero() {
			keys = append(keys, key("open", a.ID))
		}
		if err := put(&t, a, keys...); err != nil {
			return nil, err
		}
	}
	return t.Put, nil
}
