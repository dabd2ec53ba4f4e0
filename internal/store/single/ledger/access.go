package ledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/internal/store/unreadable"
)

const (
	// tries bounds how often a decision is made again because others changed its records.
	tries = 20
	// pageRows bounds the records of a page.
	pageRows = 500
)

// access is a store with errors that say what was being done.
type access struct {
	store      kv.Store
	Unreadable *unreadable.Log // notes records that cannot be read
}

func (a access) read(ctx context.Context, doing string, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	list, s, err := a.store.Read(ctx, keys...)
	return list, s, kv.Failed(doing, err)
}

func (a access) list(ctx context.Context, doing string, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	lists, s, err := a.store.List(ctx, ranges...)
	return lists, s, kv.Failed(doing, err)
}

func (a access) commit(ctx context.Context, doing string, t kv.Txn) (won bool, err error) {
	o, err := a.store.Commit(ctx, t)
	return o.Won, kv.Failed(doing, err)
}

// each calls do with all records of the range, in order, in pages.
func (a access) each(ctx context.Context, doing string, r kv.Range, do func([]kv.Record, kv.Stamp) error) error {
	r.Limit = pageRows
	return kv.Failed(doing, kv.Each(ctx, a.store, r, do))
}

// update reads the records, lets decide what to change, and changes it unless the store
// began another incarnation, or a record that decide compares has changed: then it begins again.
// An empty transaction ends it.
func (a access) update(ctx context.Context, doing string, keys []kv.Key, decide func([]kv.Record, kv.Stamp) (kv.Txn, error)) error {
	for range tries {
		list, s, err := a.read(ctx, doing, keys...)
		if err != nil {
			return err
		}
		t, err := decide(list, s)
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		if len(t.Put)+len(t.Delete) == 0 {
			return nil
		}
		t.Incarnation = s.Incarnation
		if won, err := a.commit(ctx, doing, t); won || err != nil {
			return err
		}
	}
	return outrun(doing)
}

// erase deletes the records, in as many transactions as it takes.
func (a access) erase(ctx context.Context, doing string, keys ...kv.Key) error {
	for some := range slices.Chunk(keys, a.store.Limits().Keys) {
		err := a.update(ctx, doing, []kv.Key{records.IncarnationKey()}, func([]kv.Record, kv.Stamp) (kv.Txn, error) {
			return kv.Txn{Delete: some}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// decoded is what r holds, and the zero value if it cannot be read: then that is noted.
func decoded[T any](a access, r kv.Record) (T, bool) {
	return decodedAs(a, r, func(T) kv.Key { return r.Key })
}

// decodedAs is decoded for records that say which key they have.
func decodedAs[T any](a access, r kv.Record, key func(T) kv.Key) (T, bool) {
	v, err := records.Decode[T](r)
	if err == nil && key(v) != r.Key {
		err = fmt.Errorf("it is that of another record: %s", key(v))
	}
	if err != nil {
		a.Unreadable.Skipped(r.Key.String(), err)
		return *new(T), false
	}
	return v, true
}

// unchanged are the conditions that the records are still those.
func unchanged(list ...kv.Record) []kv.Compare {
	var conditions []kv.Compare
	for _, r := range list {
		conditions = append(conditions, kv.Compare{Key: r.Key, Version: r.Version})
	}
	return conditions
}

// outrun is the error of a decision that others made void again and again.
func outrun(doing string) error {
	return fmt.Errorf("%s: %w: other replicas changed it %d times meanwhile", doing, kv.ErrUnavailable, tries)
}
