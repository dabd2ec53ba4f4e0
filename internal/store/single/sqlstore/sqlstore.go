// Package sqlstore is a [kv.Store] on a database that package database/sql reaches. A [Dialect] has
// what MySQL and SQLite do not share.
//
// # Tables
//
// "records" has all records, by kind, name and sub. "slots" has a fixed number of rows, which stand
// for the keys that do not exist: a key has one of them, by its hash. "life" has one row, which names
// the incarnation.
//
// # Transactions
//
// A transaction of the database begins, locks and reads with two statements, is decided here, and
// writes with one to three. Nothing that it locks is waited for: if another one has it, it is
// rolled back and tried again. So there is no deadlock, and no wait that only the server ends.
//
// A record that exists is locked itself. A key that does not exist, or ceases to, is locked by its slot.
// What is only compared is locked for readers too, so that others can compare it at the same time.
//
// Transactions that arrive while others are under way go together, as package groups describes, with
// one flush to the disk. Each is decided on its own.
//
// # Versions
//
// What a transaction writes has a version above those of all records that it changes, and above those
// of the slots of all keys that it makes. A deletion raises its slot to the version of the record.
// So a key never has the same version twice, and no counter is written by all.
//
// # Incarnations
//
// An incarnation is the identity of a server, as [Texts].Identity has it, and a number. A server that
// is not the one that the row of life names has another incarnation: who finds it writes the
// next number there. So does who has seen a larger number before.
package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// A Dialect is what a kind of database has of its own, besides its [Texts].
type Dialect interface {
	// Connect returns a connection with which this release can work. Nothing was sent if it fails.
	Connect(context.Context) (*sql.Conn, error)
	// Kept is called when a connection has answered. Its error says that others no longer see what
	// this connection sees and writes.
	Kept(*sql.Conn) error
	// Undone reports whether an error says that a transaction was certainly not made, because of
	// another one. Trying again makes sense then.
	Undone(error) bool
	// Failure is the error of a call, as package kv describes them.
	Failure(ctx context.Context, call string, err error) error
}

// Config describes a Store. All fields but Answered are required.
type Config struct {
	Dialect Dialect
	Texts   Texts
	// Answered, if set, says that a text may have several statements, of which none is made behind one that
	// fails: a transaction takes two round trips then. It reports whether an error is the server's answer.
	Answered func(error) bool
	Slots    int // of keys that do not exist; unless it is one, reservedSlots more are for the kind cluster
	Limits   kv.Limits
	Timeout  time.Duration // the longest that a call may take
	Conns    int           // that Connect has at most
}

// A Store is a [kv.Store] on a database. Make one with New.
type Store struct {
	Config
	commits groups.Queue[transaction, kv.Outcome]
	reads   groups.Queue[[]kv.Key, found]
	single  chan struct{} // a place for each transaction that goes alone, fewer than connections

	mu    sync.Mutex
	known life // the latest that was seen
}

// found is what a read has found, by part of the statement.
type found struct {
	parts [][]kv.Record
	stamp kv.Stamp
}

// New returns the store that c describes.
func New(c Config) *Store {
	s := &Store{Config: c, single: make(chan struct{}, max(1, c.Conns-2*groups.MostUnderWay))}
	s.commits.Connect, s.reads.Connect = s.connectToCommit, s.connectToRead
	s.commits.Least, s.reads.Least = c.Timeout/4, c.Timeout/4
	s.commits.Connects, s.reads.Connects = c.Timeout, c.Timeout
	unsent := func(err error) error { return fmt.Errorf("no connection is free: %w", err) }
	s.commits.Unsent, s.reads.Unsent = unsent, unsent
	return s
}

// Wait waits for the calls under way. No call may follow.
func (s *Store) Wait() {
	s.commits.Close()
	s.reads.Close()
}

// Limits implements [kv.Store].
func (s *Store) Limits() kv.Limits { return s.Config.Limits }

// Read implements [kv.Store].
func (s *Store) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	keys = slices.Clone(keys) // a group may outlive the call
	m := &groups.Member[[]kv.Key, found]{Ctx: ctx, Ask: keys, Keys: keys}
	alone, err := s.reads.Do(m)
	if alone {
		m.Answer, err = s.read(ctx, s.Texts.reading(keys))
	}
	if err != nil {
		return nil, kv.Stamp{}, s.Dialect.Failure(ctx, "read", err)
	}
	return pick(keys, m.Answer), m.Answer.stamp, nil
}

// pick returns the records with the keys, in that order.
func pick(keys []kv.Key, f found) []kv.Record {
	at := map[kv.Key]kv.Record{}
	for _, part := range f.parts {
		for _, r := range part {
			at[r.Key] = r
		}
	}
	list := make([]kv.Record, len(keys))
	for i, k := range keys {
		list[i] = at[k]
		list[i].Key = k
	}
	return list
}

// connectToRead returns what sends a group of reads: what all have asked for is from one moment.
func (s *Store) connectToRead(ctx context.Context) (func(context.Context, []*groups.Member[[]kv.Key, found]) bool, error) {
	conn, err := s.Dialect.Connect(ctx)
	return func(ctx context.Context, group []*groups.Member[[]kv.Key, found]) bool {
		defer func() { _ = conn.Close() }()
		var keys []kv.Key
		for _, m := range group {
			keys = append(keys, m.Ask...)
		}
		if len(group) == 0 {
			return false
		}
		all, err := s.readOn(ctx, conn, s.Texts.reading(keys))
		for _, m := range group {
			m.Answer, m.Err = all, err
			m.Alone = err != nil && s.Dialect.Undone(err)
		}
		return false
	}, err
}

// List implements [kv.Store].
func (s *Store) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	f, err := s.read(ctx, s.Texts.listing(ranges))
	if err != nil {
		return nil, kv.Stamp{}, s.Dialect.Failure(ctx, "list", err)
	}
	for _, list := range f.parts { // a union has no order
		slices.SortFunc(list, func(a, b kv.Record) int { return a.Key.Compare(b.Key) })
	}
	return f.parts, f.stamp, nil
}

// attempts is how often a read is made that another transaction has ended.
const attempts = 3

// read makes a statement that reads.
func (s *Store) read(ctx context.Context, text statement) (f found, err error) {
	for range attempts {
		var conn *sql.Conn
		if conn, err = s.Dialect.Connect(ctx); err != nil {
			return f, err
		}
		f, err = s.readOn(ctx, conn, text)
		_ = conn.Close()
		if err == nil || !s.Dialect.Undone(err) {
			break
		}
	}
	return f, err
}

// readOn makes a statement that reads. It begins another incarnation if the answer shows one, and then
// reads again.
func (s *Store) readOn(ctx context.Context, conn *sql.Conn, text statement) (found, error) {
	for {
		f := found{parts: make([][]kv.Record, text.parts)}
		seen, err := look(ctx, conn, []statement{text}, func(part int, r kv.Record) { f.parts[part] = append(f.parts[part], r) })
		if err == nil {
			err = s.Dialect.Kept(conn)
		}
		if err != nil {
			return found{}, err
		}
		if began, err := s.follow(ctx, conn, seen); err != nil {
			return found{}, err
		} else if !began {
			f.stamp = seen.stamp()
			return f, nil
		}
	}
}

// A sight is what a statement has seen of the server.
type sight struct {
	life     // as the row has it
	identity string
	clock    time.Time
}

// A life is the row of that table.
type life struct {
	number int64
	server string // whose life it is
}

func (l life) String() string { return fmt.Sprintf("%s.%d", l.server, l.number) }

func (s sight) stamp() kv.Stamp { return kv.Stamp{Incarnation: s.life.String(), Now: s.clock} }

// errOnlyReads is why a server with no identity cannot be used.
var errOnlyReads = fmt.Errorf("%w: this server only reads: it is, or was, a replica. Connect to the primary", kv.ErrUnavailable)

// isAnother reports whether a sight shows another incarnation than its row of life names.
func (s *Store) isAnother(now sight) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.server != now.identity || now.number < s.known.number {
		return true
	}
	s.known = now.life
	return false
}

// follow begins another incarnation where a sight shows that nobody has done so yet.
func (s *Store) follow(ctx context.Context, conn *sql.Conn, now sight) (began bool, err error) {
	if now.identity == "" {
		return false, groups.Unsent{Err: errOnlyReads}
	}
	if !s.isAnother(now) {
		return false, nil
	}
	s.mu.Lock()
	number := max(now.number, s.known.number) + 1
	s.mu.Unlock()
	_, err = conn.ExecContext(ctx, s.Texts.in("UPDATE {t}life SET number = ?, server = ? WHERE number = ? AND server = ?"), number, now.identity, now.number, now.server)
	return true, err
}

// discard closes a connection for good: nobody knows in which state it is.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// errSlot is why a transaction was not decided.
var errSlot = errors.New("another one makes or deletes a record")

// errLocked is why a transaction was not made.
var errLocked = fmt.Errorf("%w: the locks came after the deadline", kv.ErrLocked)

// errNoLife is why a store cannot be used whose tables somebody has emptied.
var errNoLife = fmt.Errorf("%w: the table life has no row, so somebody has emptied it; begin with a new database", kv.ErrNotReady)
