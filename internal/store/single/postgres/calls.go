package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// attempts is how often a transaction is tried that has certainly changed nothing.
const attempts = 3

// The statements. They are planned at each call, so they are simple.
const (
	readRecords   = `SELECT * FROM {schema}.read_records($1, $2, $3, $4)`
	listRecords   = `SELECT * FROM {schema}.list_records($1, $2, $3, $4, $5, $6, $7)`
	commitRecords = `SELECT * FROM {schema}.commit_records($1, $2, $3, $4, $5, $6, $7, $8, $9)`
)

// columns are keys as the functions take them.
type columns struct{ kinds, names, subs []string }

func (c *columns) add(k kv.Key) {
	c.kinds, c.names, c.subs = append(c.kinds, string(k.Kind)), append(c.names, k.Name), append(c.subs, k.Sub)
}

// Read implements [kv.Store].
func (s *Store) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	var list []kv.Record
	var c columns
	for _, k := range keys {
		list = append(list, kv.Record{Key: k})
		c.add(k)
	}
	found := func(at int, r kv.Record) { list[at].Version, list[at].Value = r.Version, r.Value }
	stamp, err := s.query(ctx, found, readRecords, s.durable, c.kinds, c.names, c.subs)
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "read", err)
	}
	return list, stamp, nil
}

// List implements [kv.Store].
func (s *Store) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	lists := make([][]kv.Record, len(ranges))
	var from, to columns
	var most []int
	for _, r := range ranges {
		from.add(kv.Key{Kind: r.Kind, Name: r.From.Name, Sub: r.From.Sub})
		to.add(kv.Key{Name: r.To.Name, Sub: r.To.Sub})
		most = append(most, r.Limit)
	}
	found := func(at int, r kv.Record) {
		r.Key.Kind = ranges[at].Kind
		lists[at] = append(lists[at], r)
	}
	stamp, err := s.query(ctx, found, listRecords, s.durable, from.kinds, from.names, from.subs, to.names, to.subs, most)
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "list", err)
	}
	return lists, stamp, nil
}

// query calls found for each row of a statement that only reads, with the place, from 0, of
// the key or range that it belongs to.
func (s *Store) query(ctx context.Context, found func(int, kv.Record), statement string, args ...any) (kv.Stamp, error) {
	var stamp kv.Stamp
	conn, err := s.acquire(ctx)
	if err != nil {
		return stamp, err
	}
	defer conn.Release()
	if err := s.check(ctx, conn); err != nil {
		return stamp, err
	}
	rows, err := conn.Query(ctx, s.text(statement), inline(args)...)
	if err != nil {
		return stamp, err
	}
	var clock int64
	var at *int
	var version *int64
	var name, sub, value *string
	_, err = pgx.ForEachRow(rows, []any{&stamp.Life, &clock, &at, &name, &sub, &version, &value}, func() error {
		if at != nil {
			key := kv.Key{Name: *name, Sub: *sub}
			found(*at-1, kv.Record{Key: key, Version: uint64(*version), Value: json.RawMessage(*value)})
		}
		return nil
	})
	stamp.Now = time.UnixMicro(clock)
	return stamp, err
}

// Commit implements [kv.Store].
func (s *Store) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := t.Check(limits); err != nil {
		return kv.Outcome{}, err
	}
	for left := attempts; ; left-- {
		o, err := s.commit(ctx, t)
		switch {
		case err == nil:
			return o, nil
		case left == 1, !changedNothing(err), ctx.Err() != nil:
			return kv.Outcome{}, s.failure(ctx, "commit", err)
		}
	}
}

func (s *Store) commit(ctx context.Context, t kv.Txn) (o kv.Outcome, err error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return o, err
	}
	defer conn.Release()
	if err := s.check(ctx, conn); err != nil {
		return o, notSent{err}
	}
	var ops, values []string
	var wanted []int64
	var keys columns
	for _, c := range changes(t) {
		keys.add(c.key)
		ops, wanted, values = append(ops, c.op), append(wanted, c.wanted), append(values, string(c.value))
	}
	args := []any{t.Life, s.durable, patience(ctx), ops, keys.kinds, keys.names, keys.subs, wanted, values}
	var clock int64
	err = conn.QueryRow(ctx, s.text(commitRecords), inline(args)...).Scan(&o.Won, &o.Version, &o.Stamp.Life, &clock)
	o.Stamp.Now = time.UnixMicro(clock)
	return o, err
}

// A change is what a transaction does with a key.
type change struct {
	key    kv.Key
	op     string // "put", "delete", or "if": nothing
	wanted int64  // the version that it has to have; -1: any
	value  json.RawMessage
}

// changes lists what t does, as commit_records takes it: in the order of keys, and a change
// before further conditions on its key.
func changes(t kv.Txn) []change {
	var list []change
	at := map[kv.Key]int{}
	add := func(c change) {
		at[c.key] = len(list)
		list = append(list, c)
	}
	for _, w := range t.Put {
		add(change{w.Key, "put", -1, w.Value})
	}
	for _, k := range t.Delete {
		add(change{k, "delete", -1, nil})
	}
	for _, c := range t.If {
		if i, changed := at[c.Key]; changed && list[i].wanted < 0 {
			list[i].wanted = int64(c.Version)
			continue
		}
		add(change{c.Key, "if", int64(c.Version), nil})
	}
	slices.SortStableFunc(list, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.key.Kind, b.key.Kind), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Sub, b.key.Sub))
	})
	return list
}

// patience is how many milliseconds a transaction may wait for locks: less than its caller
// waits for the answer, which says then that nothing was changed.
func patience(ctx context.Context) int64 {
	until, bounded := ctx.Deadline()
	if !bounded {
		return 0
	}
	return max(1, time.Until(until).Milliseconds()*3/4)
}

// text is a statement on the schema.
func (s *Store) text(statement string) string {
	return strings.ReplaceAll(statement, "{schema}", s.schema)
}

// inline makes pgx send a statement at once and unnamed: a connection of PgBouncer may
// belong to another session with the next statement.
func inline(args []any) []any { return append([]any{pgx.QueryExecModeExec}, args...) }
