package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quorate/quorate/internal/store/single/groups"
	"github.com/quorate/quorate/internal/store/single/kv"
)

// attempts is how often a transaction is tried that has certainly changed nothing.
const attempts = 3

// The statements. Behind a connection pooler they are planned at each call, so they are simple.
const (
	readRecords = `SELECT * FROM {schema}.read_records($1, $2, $3, $4)`
	listRecords = `SELECT * FROM {schema}.list_records($1, $2, $3, $4, $5, $6, $7)`
	commitGroup = `SELECT * FROM {schema}.commit_group($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
)

// columns are keys as the functions take them.
type columns struct{ kinds, names, subs []string }

func (c *columns) add(k kv.Key) {
	c.kinds, c.names, c.subs = append(c.kinds, string(k.Kind)), append(c.names, k.Name), append(c.subs, k.Sub)
}

// Read implements [kv.Store].
func (s *Store) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	keys = slices.Clone(keys) // a group may outlive the call
	m := &groups.Member[[]kv.Key, found]{Ctx: ctx, Ask: keys, Keys: keys}
	alone, err := s.reads.Do(m)
	if alone {
		err = s.repeat(ctx, func(conn *pgxpool.Conn) (err error) {
			m.Answer, err = s.read(ctx, conn, keys)
			return err
		})
	}
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "read", err)
	}
	return m.Answer.records, m.Answer.stamp, nil
}

// read reads the records with the keys in one statement.
func (s *Store) read(ctx context.Context, conn *pgxpool.Conn, keys []kv.Key) (found, error) {
	var c columns
	f := found{records: make([]kv.Record, len(keys))}
	for i, k := range keys {
		f.records[i].Key = k
		c.add(k)
	}
	var err error
	f.stamp, err = s.query(ctx, conn, func(at int, r kv.Record) {
		f.records[at].Version, f.records[at].Value = r.Version, r.Value
	}, readRecords, s.durable, c.kinds, c.names, c.subs)
	return f, err
}

// connectToRead returns what sends a group of reads: what all have asked for is from one moment.
func (s *Store) connectToRead(ctx context.Context) (func(context.Context, []*groups.Member[[]kv.Key, found]) bool, error) {
	conn, err := s.ready(ctx)
	return func(ctx context.Context, group []*groups.Member[[]kv.Key, found]) bool {
		defer conn.Release()
		var keys []kv.Key
		for _, m := range group {
			keys = append(keys, m.Ask...)
		}
		if len(group) == 0 {
			return false
		}
		all, err := s.read(ctx, conn, keys)
		for _, m := range group {
			switch n := len(m.Ask); {
			case err == nil:
				m.Answer = found{all.records[:n:n], all.stamp}
				all.records = all.records[n:]
			case rolledBack(err):
				m.Alone = true
			default:
				m.Err = err
			}
		}
		return false
	}, err
}

// repeat calls do with a connection, and again after an error that has certainly changed nothing.
func (s *Store) repeat(ctx context.Context, do func(*pgxpool.Conn) error) error {
	for left := attempts; ; left-- {
		conn, err := s.ready(ctx)
		if err == nil {
			err = do(conn)
			conn.Release()
		}
		if err == nil || left == 1 || !changedNothing(err) || ctx.Err() != nil {
			return err
		}
	}
}

// List implements [kv.Store].
func (s *Store) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	var lists [][]kv.Record
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
	var stamp kv.Stamp
	err := s.repeat(ctx, func(conn *pgxpool.Conn) (err error) {
		lists = make([][]kv.Record, len(ranges))
		stamp, err = s.query(ctx, conn, found, listRecords, s.durable, from.kinds, from.names, from.subs, to.names, to.subs, most)
		return err
	})
	if err != nil {
		return nil, kv.Stamp{}, s.failure(ctx, "list", err)
	}
	return lists, stamp, nil
}

// query calls found for each row of a statement that only reads, with the place, from 0, of
// the key or range that it belongs to.
func (s *Store) query(ctx context.Context, conn *pgxpool.Conn, found func(int, kv.Record), statement string, args ...any) (kv.Stamp, error) {
	var stamp kv.Stamp
	rows, err := conn.Query(ctx, s.text(statement), prepared(conn, args)...)
	if err != nil {
		return stamp, about(conn.Conn(), err)
	}
	var clock int64
	var at *int
	var version *int64
	var name, sub, value *string
	_, err = pgx.ForEachRow(rows, []any{&stamp.Incarnation, &clock, &at, &name, &sub, &version, &value}, func() error {
		if at != nil {
			key := kv.Key{Name: *name, Sub: *sub}
			found(*at-1, kv.Record{Key: key, Version: uint64(*version), Value: json.RawMessage(*value)})
		}
		return nil
	})
	stamp.Now = time.UnixMicro(clock)
	return stamp, about(conn.Conn(), err)
}

// Commit implements [kv.Store].
func (s *Store) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := t.Check(limits); err != nil {
		return kv.Outcome{}, err
	}
	m := &groups.Member[transaction, kv.Outcome]{Ctx: ctx, Ask: transaction{t.Incarnation, groups.Changes(t)}, Urgency: t.Urgency}
	alone := false
	for _, c := range m.Ask.changes {
		m.Keys, m.Bytes = append(m.Keys, c.Key), m.Bytes+len(c.Value)
		alone = alone || c.Key.Kind == kv.Commands
	}
	var err error
	if !alone {
		alone, err = s.commits.Do(m)
	}
	if alone {
		m.Answer, err = s.commitAlone(ctx, m.Ask, m.Urgency)
	}
	if err != nil {
		return kv.Outcome{}, s.failure(ctx, "commit", err)
	}
	return m.Answer, nil
}

// A transaction is what commit_group decides.
type transaction struct {
	incarnation string
	changes     []groups.Change
}

// commitAlone waits for the keys of a transaction. An extension does not wait for those that do.
func (s *Store) commitAlone(ctx context.Context, t transaction, u kv.Urgency) (o kv.Outcome, err error) {
	if u != kv.Extends {
		select {
		case s.single <- struct{}{}:
			defer func() { <-s.single }()
		case <-ctx.Done():
			return o, groups.Unsent{Err: ctx.Err()}
		}
	}
	err = s.repeat(ctx, func(conn *pgxpool.Conn) error {
		verdicts, err := s.decide(ctx, conn, true, patience(ctx), t)
		if err == nil {
			o = verdicts[0].Outcome
		}
		return err
	})
	return o, err
}

// A verdict is what commit_group answers of one transaction.
type verdict struct {
	kv.Outcome
	decided bool // else one of its keys is locked
}

// connectToCommit returns what sends a group of transactions. Their verdicts count when the rows are
// closed without an error: the server has then said that it has committed.
func (s *Store) connectToCommit(ctx context.Context) (func(context.Context, []*groups.Member[transaction, kv.Outcome]) bool, error) {
	conn, err := s.ready(ctx)
	return func(ctx context.Context, group []*groups.Member[transaction, kv.Outcome]) bool {
		defer conn.Release()
		if len(group) == 0 {
			return false
		}
		var list []transaction
		shortest := int64(0)
		for _, m := range group {
			list = append(list, m.Ask)
			if p := patience(m.Ctx); shortest == 0 || p > 0 && p < shortest {
				shortest = p
			}
		}
		verdicts, err := s.decide(ctx, conn, false, shortest, list...)
		for i, m := range group {
			switch {
			case err == nil && verdicts[i].decided:
				m.Answer = verdicts[i].Outcome
			case err == nil, rolledBack(err):
				m.Alone = true
			default:
				m.Err = err
			}
		}
		return code(err) == outOfMemory
	}, err
}

// decide calls commit_group.
func (s *Store) decide(ctx context.Context, conn *pgxpool.Conn, waits bool, patience int64, list ...transaction) ([]verdict, error) {
	var lives, ops, values []string
	var sizes []int
	var wanted []int64
	var keys columns
	for _, t := range list {
		lives, sizes = append(lives, t.incarnation), append(sizes, len(t.changes))
		for _, c := range t.changes {
			keys.add(c.Key)
			ops, wanted, values = append(ops, string(c.Op)), append(wanted, c.Wanted), append(values, string(c.Value))
		}
	}
	args := []any{s.durable, waits, patience, lives, sizes, ops, keys.kinds, keys.names, keys.subs, wanted, values}
	rows, err := conn.Query(ctx, s.text(commitGroup), prepared(conn, args)...)
	if err != nil {
		return nil, about(conn.Conn(), err)
	}
	verdicts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (v verdict, err error) {
		var clock int64
		err = row.Scan(&v.decided, &v.Won, &v.Version, &v.Stamp.Incarnation, &clock)
		v.Stamp.Now = time.UnixMicro(clock)
		return v, err
	})
	return verdicts, about(conn.Conn(), err)
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

// direct marks a connection: with true, statements may be prepared on it.
const direct = "quorate: direct"

// mark finds out, once, whether a connection is one to the server itself: then the process that serves it
// is the one that was named when the connection began. A pooler names another, and may give each
// statement to another session, which does not know what was prepared.
func mark(ctx context.Context, conn *pgx.Conn) {
	data := conn.PgConn().CustomData()
	if data[direct] != nil {
		return
	}
	if c := conn.Config(); c.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement || c.StatementCacheCapacity == 0 {
		data[direct] = false
		return
	}
	var process uint32
	if err := conn.QueryRow(ctx, "SELECT pg_catalog.pg_backend_pid()", pgx.QueryExecModeExec).Scan(&process); err == nil || code(err) != "" { // else the next call tells
		data[direct] = process == conn.PgConn().PID()
	}
}

// about is what an error says after a statement on a connection. If the connection has ended with it, or a
// pooler has lost the server, nobody knows what became of the statement. If a prepared one is lost, a hook of
// the pool, or a pooler after all, gives the session to others: then nothing more is prepared on it.
func about(conn *pgx.Conn, err error) error {
	answer, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case !ok:
	case misprepared(err):
		conn.PgConn().CustomData()[direct] = false
	case conn.IsClosed(), strings.HasPrefix(answer.Code, "08"), answer.Code == completionUnknown:
		return meaning{err, kv.ErrUnavailable}
	}
	return err
}

// prepared makes pgx prepare a statement once per connection where it may, and else send it at once
// and unnamed.
func prepared(conn *pgxpool.Conn, args []any) []any {
	mode := pgx.QueryExecModeExec
	if conn.Conn().PgConn().CustomData()[direct] == true {
		mode = pgx.QueryExecModeCacheStatement
	}
	return append([]any{mode}, args...)
}
