package ownstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	bolt "go.etcd.io/bbolt"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
)

// A Store opens the file that the sqlite section names.
type Store struct{}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionSQLite }

// Address implements [replica.Store].
func (s *Store) Address() string { return "" }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, c config.Cluster) (kv.Server, error) {
	return &server{path: c.SQLite.Path, namespace: c.Namespace}, nil
}

var _ replica.Store = (*Store)(nil)

// limits bound a transaction. bbolt has none as small; these bound the memory that one takes.
var limits = kv.Limits{Keys: 1000, Bytes: 8 << 20}

// A server is a [kv.Server] on a file. Each kind of record has a bucket. A key in it is the name, a zero byte
// and the sub, so bbolt has the order of package kv. What is stored there is the version in 8 bytes, and
// the value. The version is the number of bbolt's transaction, which only grows in a file.
type server struct {
	path, namespace string

	mu    sync.Mutex
	file  *file // nil: not opened yet
	calls sync.WaitGroup
}

// Name implements [kv.Server].
func (s *server) Name() string { return "bbolt " + s.path }

// Limits implements [kv.Store].
func (s *server) Limits() kv.Limits { return limits }

// Close implements [kv.Server].
func (s *server) Close() {
	s.calls.Wait()
	if s.file != nil {
		_ = s.file.db.Close() // the disk has each commit already
	}
}

// Read implements [kv.Store].
func (s *server) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	a, err := s.do(ctx, "read", false, func(tx *bolt.Tx, a *answer) error {
		list := make([]kv.Record, len(keys))
		for i, k := range keys {
			list[i] = s.get(tx, k)
		}
		a.lists = [][]kv.Record{list}
		return nil
	})
	if err != nil {
		return nil, kv.Stamp{}, err
	}
	return a.lists[0], a.Stamp, nil
}

// List implements [kv.Store].
func (s *server) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	a, err := s.do(ctx, "list", false, func(tx *bolt.Tx, a *answer) error {
		for _, r := range ranges {
			a.lists = append(a.lists, s.list(tx, r))
		}
		return nil
	})
	return a.lists, a.Stamp, err
}

// Commit implements [kv.Store].
func (s *server) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := t.Check(limits); err != nil {
		return kv.Outcome{}, err
	}
	a, err := s.do(ctx, "commit", true, func(tx *bolt.Tx, a *answer) error {
		changed := func(c kv.Compare) bool { return s.get(tx, c.Key).Version != c.Version }
		if a.Won = t.Incarnation == a.Stamp.Incarnation && !slices.ContainsFunc(t.If, changed); !a.Won {
			return nil
		}
		if len(t.Put) > 0 {
			a.Version = uint64(tx.ID())
		}
		return s.apply(tx, t, a.Version)
	})
	return a.Outcome, err
}

// Check implements [kv.Server]. It opens the file, so it finds what would be refused.
func (s *server) Check(ctx context.Context) (kv.Checkup, error) {
	_, _, err := s.Read(ctx)
	return kv.Checkup{Version: "bbolt"}, err
}

var _ kv.Server = (*server)(nil)

// bucket is where records of a kind are.
func (s *server) bucket(kind kv.Kind) []byte { return []byte(s.namespace + "/" + string(kind)) }

// place is that of a point in a bucket.
func place(name, sub string) []byte { return []byte(name + "\x00" + sub) }

// record is what is stored under a key. What bbolt returns is gone with the transaction.
func record(k kv.Key, stored []byte) kv.Record {
	if stored == nil {
		return kv.Record{Key: k}
	}
	return kv.Record{Key: k, Version: binary.BigEndian.Uint64(stored), Value: bytes.Clone(stored[8:])}
}

func (s *server) get(tx *bolt.Tx, k kv.Key) kv.Record {
	b := tx.Bucket(s.bucket(k.Kind))
	if b == nil {
		return kv.Record{Key: k}
	}
	return record(k, b.Get(place(k.Name, k.Sub)))
}

func (s *server) list(tx *bolt.Tx, r kv.Range) []kv.Record {
	b, list := tx.Bucket(s.bucket(r.Kind)), []kv.Record{}
	if b == nil {
		return list
	}
	c, end := b.Cursor(), place(r.To.Name, r.To.Sub)
	for at, stored := c.Seek(place(r.From.Name, r.From.Sub)); at != nil; at, stored = c.Next() {
		if r.To != (kv.Point{}) && bytes.Compare(at, end) >= 0 || r.Limit > 0 && len(list) == r.Limit {
			break
		}
		name, sub, _ := bytes.Cut(at, []byte{0})
		list = append(list, record(kv.Key{Kind: r.Kind, Name: string(name), Sub: string(sub)}, stored))
	}
	return list
}

// apply makes the changes of a transaction that has won.
func (s *server) apply(tx *bolt.Tx, t kv.Txn, version uint64) error {
	for _, w := range t.Put {
		b, err := tx.CreateBucketIfNotExists(s.bucket(w.Key.Kind))
		if err == nil {
			err = b.Put(place(w.Key.Name, w.Key.Sub), append(binary.BigEndian.AppendUint64(nil, version), w.Value...))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", w.Key, err)
		}
	}
	for _, k := range t.Delete {
		if b := tx.Bucket(s.bucket(k.Kind)); b != nil {
			if err := b.Delete(place(k.Name, k.Sub)); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	return nil
}
