// Package kv is the contract of a consistent store: one PostgreSQL, for example, in
// place of a quorum of Redis nodes. Locks, ledger, roster and commands stand on it. Package
// kvtest checks those who implement it.
//
// # Records
//
// A store keeps small JSON documents, the records, each under a [Key]. It need not
// understand them. All decisions are made by [Store.Commit]: a transaction that names the
// versions it has seen, and writes only if none of them has changed. So every decision is
// made from what is stored, and of two that contradict each other one loses.
//
// # Promises of a Store
//
//   - Reads and commits are linearizable: a call sees everything that was committed before
//     it began.
//   - A commit happens wholly or not at all. If the store does not answer, it is unknown
//     whether it happened, or will happen soon.
//   - A key never has the same version twice within an incarnation, also after it was deleted.
//   - Every answer carries the incarnation of the server that gave it, and the server's clock if
//     it has one.
//
// # Incarnations
//
// An incarnation is a stretch in which the store forgets nothing. A server that may have forgotten
// what another one has acknowledged has another incarnation: a standby that was promoted, or a
// server that was restored from a backup. A transaction names the incarnation in which its
// versions were read, and loses in any other.
//
// # Stores without a clock
//
// The answers of etcd and ZooKeeper carry no clock: [Stamp.Now] is zero. On such a store
// leases expire by observation, as package claims describes, and replicas' clocks decide on
// nothing else that is promised within an incarnation. Times in records, such as that of a command or a
// heartbeat, are then the clocks of the replicas that wrote them ([Stamp.At]).
//
// Locks treat another incarnation as they treat a Redis node that has lost its memory: for a grace
// they grant nothing that may have been granted before.
package kv

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/quorate/quorate/locking"
)

// A Store keeps records. Its methods may be called from any goroutine. An error of Read or
// List means that the store did not answer; it matches [ErrUnavailable], joined with the
// context's error if that has ended, or the store has answered, and refuses: see [Failed].
type Store interface {
	// Read returns the records with the keys, in that order, all from one moment. One that
	// does not exist has version 0 and no value.
	Read(ctx context.Context, keys ...Key) ([]Record, Stamp, error)

	// List returns the records of each range in the order of their keys, all from one
	// moment.
	List(ctx context.Context, ranges ...Range) ([][]Record, Stamp, error)

	// Commit makes the changes of t if the store still has the incarnation and the versions that t
	// names. It reports whether it did. After an error that matches [ErrUnavailable] this is
	// unknown, unless it matches [ErrLocked] or [ErrNotSent]; [Unknown] tells. After any
	// other error nothing was changed.
	Commit(ctx context.Context, t Txn) (Outcome, error)

	// Limits are those of a transaction.
	Limits() Limits
}

// A Kind is a family of records.
type Kind string

// The kinds, and what Name and Sub are in their keys.
const (
	Claims   Kind = "claim"   // claims. Name: the lock
	Leases   Kind = "lease"   // leases. Name: the lock. Sub: the tick, if its run may overlap others
	Entries  Kind = "entry"   // ledger entries. Name: the job. Sub: sorts the newest tick first
	Logs     Kind = "log"     // logs of runs. Name: the job. Sub: sorts the newest tick first
	Jobs     Kind = "job"     // published versions of jobs. Name: the job. Sub: a hash
	Members  Kind = "replica" // the roster. Name: the replica. Sub: its process
	Commands Kind = "act"     // commands, pauses and the audit log. Name: which of them. Sub: the command
	Sets     Kind = "set"     // sets of jobs. Name: "renewed" or "packed". Sub: a hash
	Cluster  Kind = "cluster" // what concerns the whole store. Name: "life", "forgotten", "service", "left"
)

// Kinds lists all kinds.
func Kinds() []Kind {
	return []Kind{Claims, Leases, Entries, Logs, Jobs, Members, Commands, Sets, Cluster}
}

// A Key names a record. Keys of a kind are ordered by Name, then Sub, both by bytes. Neither
// contains a zero byte.
type Key struct {
	Kind Kind
	Name string
	Sub  string
}

// A Record is what is stored under a key.
type Record struct {
	Key     Key
	Version uint64 // 0: there is none
	Value   json.RawMessage
}

// A Range selects keys of one kind, from From on, and before To.
type Range struct {
	Kind     Kind
	From, To Point
	Limit    int // at most so many; 0: all
}

// A Point is a place in the order of the keys of a kind. The zero Point is the start, as
// Range.From, and the end, as Range.To.
type Point struct{ Name, Sub string }

// All selects all records of a kind.
func All(kind Kind) Range { return Range{Kind: kind} }

// Of selects the records of a kind with the name.
func Of(kind Kind, name string) Range {
	return Range{Kind: kind, From: Point{Name: name}, To: afterName(name)}
}

// Only selects the record with the key.
func Only(k Key) Range { return Range{Kind: k.Kind, From: Point{k.Name, k.Sub}, To: k.Next()} }

// Between selects the records with the name from the sub on, and before the sub to; with an
// empty to, up to the last.
func Between(kind Kind, name, from, to string) Range {
	r := Of(kind, name)
	r.From.Sub = from
	if to != "" {
		r.To = Point{name, to}
	}
	return r
}

// afterName is the first point after all keys with the name.
func afterName(name string) Point { return Point{Name: name + "\x01"} }

// Next is the first point after the key, as no key has a zero byte.
func (k Key) Next() Point { return Point{k.Name, k.Sub + "\x01"} }

// Each calls do with the records of the range, in order, in pages of as many as its limit; without
// one, at once.
func Each(ctx context.Context, s Store, r Range, do func([]Record, Stamp) error) error {
	for {
		lists, stamp, err := s.List(ctx, r)
		if err == nil {
			err = do(lists[0], stamp)
		}
		if err != nil || r.Limit == 0 || len(lists[0]) < r.Limit {
			return err
		}
		r.From = lists[0][r.Limit-1].Key.Next()
	}
}

// Holds reports whether the range selects the key.
func (r Range) Holds(k Key) bool {
	at := Point{k.Name, k.Sub}
	return k.Kind == r.Kind && at.Compare(r.From) >= 0 && (r.To == Point{} || at.Compare(r.To) < 0)
}

// A Stamp says which server answered, and when.
type Stamp struct {
	Incarnation string    // see the package's documentation
	Now         time.Time // its clock while it answered; zero: it has none
}

// At is when the store answered: by its clock or, if it has none, by the caller's.
func (s Stamp) At() time.Time {
	if s.Now.IsZero() {
		return time.Now()
	}
	return s.Now
}

// A Txn is a transaction.
type Txn struct {
	// Incarnation is that of the stamp with the versions in If.
	Incarnation string
	// If are the versions that were read; 0 for a record that did not exist.
	If []Compare
	// Put writes records, Delete deletes those that exist. No key may be in both.
	Put    []Write
	Delete []Key
	// Urgency says which transactions go first while several wait to be sent.
	Urgency Urgency
}

// An Urgency is how soon a transaction has to be sent. It decides nothing else.
type Urgency uint8

// The urgencies.
const (
	CanWait   Urgency = iota // a claim, and all else
	EndsRun                  // the end of a run: others wait for its lease
	Extends                  // an extension: the lease runs out without it
	Urgencies                // how many there are
)

// A Compare is a condition of a transaction.
type Compare struct {
	Key     Key
	Version uint64
}

// A Write is a record to write.
type Write struct {
	Key   Key
	Value json.RawMessage
}

// An Outcome says what became of a transaction.
type Outcome struct {
	Won bool
	// Version is that of all records that it has put; 0 if it lost.
	Version uint64
	Stamp   Stamp
}

// Limits bound a transaction.
type Limits struct {
	Keys  int // compared and changed
	Bytes int // of all values
}

var (
	// ErrUnavailable means that the store did not answer. Trying again makes sense. It
	// matches locking.ErrNoQuorum, without its words: one store has no quorum.
	ErrUnavailable error = unavailable{}
	// ErrLocked means that a transaction that is under way holds one of the records. Nothing
	// was changed. Errors that match it match ErrUnavailable, too.
	ErrLocked = fmt.Errorf("%w: another transaction holds a record", ErrUnavailable)
	// ErrNotSent means that a transaction was not sent to the store, for lack of a connection.
	// Nothing was changed. Errors that match it match ErrUnavailable, too.
	ErrNotSent = fmt.Errorf("%w: there is no connection", ErrUnavailable)
	// ErrLogin means that the store refuses the login: the user, the password, the certificate or
	// the database. Nothing was changed. Errors that match it match ErrNotSent, too: what was
	// rotated at the server may soon be rotated here.
	ErrLogin error = refusedLogin{}
	// ErrTooLarge means that a transaction is beyond the Limits. Nothing was changed.
	ErrTooLarge = errors.New("the transaction is too large for the store")
	// ErrFull means that as many requests as may be are open or queued. Nothing was changed.
	ErrFull = errors.New("the store has no place for another request")
	// ErrNotReady means that the store is not set up for this release. The text says what to do.
	ErrNotReady = errors.New("the store is not set up")
	// ErrCopying means that only a part of another store was copied to this one.
	ErrCopying = fmt.Errorf("%w: a copy to it has not finished: empty it, and repeat `quorate store copy`", ErrNotReady)
)

// Unknown reports whether Commit failed in such a way that the changes may have been made, or
// may still be.
func Unknown(err error) bool {
	return errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrLocked) && !errors.Is(err, ErrNotSent)
}

// Failed is the error of a call, with what was being done; nil for none. It matches
// locking.ErrNoQuorum if the store did not answer, and locking.ErrRefused if it refuses: for
// lack of rights, of space, or of a login. That may be corrected at any time, so trying again
// makes sense in both cases. It does not after [ErrTooLarge].
func Failed(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrTooLarge):
		err = refused{err}
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// refused is the error of a store that refuses, whose words say it all.
type refused struct{ error }

func (refused) Is(target error) bool { return target == locking.ErrRefused }

func (e refused) Unwrap() error { return e.error }

type refusedLogin struct{}

func (refusedLogin) Error() string { return "the store refuses the login" }

func (refusedLogin) Is(target error) bool {
	return target == ErrNotSent || errors.Is(ErrNotSent, target)
}

type unavailable struct{}

func (unavailable) Error() string { return "the store does not answer" }

func (unavailable) Is(target error) bool { return target == locking.ErrNoQuorum }

// Compare orders points as stores order their keys.
func (p Point) Compare(q Point) int {
	return cmp.Or(strings.Compare(p.Name, q.Name), strings.Compare(p.Sub, q.Sub))
}

// Compare orders keys by kind, then as points.
func (k Key) Compare(l Key) int {
	return cmp.Or(strings.Compare(string(k.Kind), string(l.Kind)), Point{k.Name, k.Sub}.Compare(Point{l.Name, l.Sub}))
}

func (k Key) String() string {
	text := string(k.Kind) + " " + k.Name
	if k.Sub != "" {
		text += " " + k.Sub
	}
	return text
}

// Check reports what is wrong with t, nil for nothing. Every Store calls it first.
func (t Txn) Check(l Limits) error {
	bytes, seen := 0, map[Key]bool{}
	change := func(k Key) error {
		if seen[k] {
			return fmt.Errorf("a transaction changes %s twice", k)
		}
		seen[k] = true
		return k.check()
	}
	for _, w := range t.Put {
		bytes += len(w.Value)
		if err := change(w.Key); err != nil {
			return err
		}
	}
	for _, k := range t.Delete {
		if err := change(k); err != nil {
			return err
		}
	}
	for _, c := range t.If {
		if err := c.Key.check(); err != nil {
			return err
		}
	}
	if keys := len(t.If) + len(seen); keys > l.Keys || bytes > l.Bytes {
		return fmt.Errorf("%w: %d keys and %d bytes, at most %d and %d", ErrTooLarge, keys, bytes, l.Keys, l.Bytes)
	}
	return nil
}

func (k Key) check() error {
	if k.Kind == "" || strings.ContainsRune(k.Name+k.Sub, 0) {
		return fmt.Errorf("%q is no key: it has no kind, or a zero byte", k.String())
	}
	return nil
}

// A Server is a Store with what operators need: a name, a check, Close.
type Server interface {
	Store
	// Name tells people which server it is, without secrets.
	Name() string
	// Check judges the server and its settings. Errors are those of Read.
	Check(ctx context.Context) (Checkup, error)
	// Close closes the connections. No call may follow.
	Close()
}

// A Checkup is the result of Check.
type Checkup struct {
	Version  string
	Findings []Finding
}

// A Finding is a setting that may cost ticks or memory. Text says what to do.
type Finding struct {
	Topic string
	Mend  bool // it must be fixed; false: for information
	Text  string
}
