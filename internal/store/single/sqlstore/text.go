package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Texts are the parts of statements that dialects have of their own.
type Texts struct {
	Tables string // stands before the names of tables
	Begin  string // begins a transaction that writes
	// Identity is an expression: the identity of the server, empty if it only reads. Clock is
	// another one: microseconds since 1970.
	Identity, Clock string
	// Part makes a SELECT with ORDER BY, LIMIT or a lock a part of a UNION: %s is that SELECT.
	Part string
	// What stands behind a SELECT that locks slots, or records, to change or to compare them. Slots that
	// others have locked are missing from the answer, and a record that others have locked fails
	// the statement.
	ChangeSlots, CompareSlots, ChangeRecords, CompareRecords string
	// ByKey stands behind the table where records are locked or deleted, so they are found by their keys: a
	// planner that reads a small table as a whole would meet the locks of all others. Deleted stands before the
	// FROM of a DELETE with that.
	ByKey, Deleted string
	// What stands behind an INSERT of records, or of slots, where the row may exist: then the values
	// that change are those of the insert.
	OverRecords, OverSlots string
	// The same for what a transaction of the application writes, which does not know the version: Again takes the
	// values, with a version above both, and Keep changes nothing.
	Again, Keep string
	// Bytes is an expression with one argument, in hexadecimal digits: the bytes.
	Bytes string
}

// A statement is a text with its arguments. Its rows have the number of a part, a key, a version, and a
// value; that of part -1 has a sight.
type statement struct {
	text  string
	args  []any
	parts int
}

// in names the tables in a text.
func (t Texts) in(text string) string { return strings.ReplaceAll(text, "{t}", t.Tables) }

// A union is a statement in the making.
type union struct {
	t     Texts
	parts []string
	args  []any
}

func (u *union) add(part string, args ...any) {
	u.parts, u.args = append(u.parts, fmt.Sprintf(u.t.Part, u.t.in(part))), append(u.args, args...)
}

func (u *union) statement(parts int) statement {
	return statement{strings.Join(u.parts, " UNION ALL "), u.args, parts}
}

// life begins a union with the part that each has. It comes first: what is locked behind it is younger.
func (t Texts) life(lock string) *union {
	u := &union{t: t}
	u.add("SELECT -1, '', server, " + t.Identity + ", number, " + t.Clock + " FROM {t}life" + lock)
	return u
}

// mostInPart is how many keys a part names: parsers bound the depth of what they read.
const mostInPart = 250

// reading reads the records with the keys.
func (t Texts) reading(keys []kv.Key) statement {
	u := t.life("")
	for from := 0; from < len(keys); from += mostInPart {
		condition, args := among(keys[from:min(from+mostInPart, len(keys))])
		u.add("SELECT 0, kind, name, sub, version, value FROM {t}records WHERE "+condition, args...)
	}
	return u.statement(1)
}

// listing reads the records in the ranges, each in a part of its own.
func (t Texts) listing(ranges []kv.Range) statement {
	u := t.life("")
	for i, r := range ranges {
		condition, args := within(r)
		text := "SELECT " + strconv.Itoa(i) + ", kind, name, sub, version, value FROM {t}records WHERE " + condition
		if r.Limit > 0 {
			text, args = text+" ORDER BY name, sub LIMIT ?", append(args, r.Limit)
		}
		u.add(text, args...)
	}
	return u.statement(len(ranges))
}

// among is the condition that a record has one of the keys.
func among(keys []kv.Key) (string, []any) {
	args := make([]any, 0, 3*len(keys))
	for _, k := range keys {
		args = append(args, string(k.Kind), k.Name, k.Sub)
	}
	return "(" + list("(kind = ? AND name = ? AND sub = ?)", " OR ", len(keys)) + ")", args
}

// within is the condition that a record is in the range. Planners find those of one name by equality.
func within(r kv.Range) (string, []any) {
	text, args := "kind = ?", []any{string(r.Kind)}
	and := func(more string, with ...any) { text, args = text+" AND "+more, append(args, with...) }
	if r.To == (kv.Point{Name: r.From.Name + "\x01"}) || r.To.Name == r.From.Name && r.To.Sub != "" {
		and("name = ? AND sub >= ?", r.From.Name, r.From.Sub)
		if r.To.Name == r.From.Name {
			and("sub < ?", r.To.Sub)
		}
		return text, args
	}
	if r.From != (kv.Point{}) {
		and("(name > ? OR (name = ? AND sub >= ?))", r.From.Name, r.From.Name, r.From.Sub)
	}
	if r.To != (kv.Point{}) {
		and("(name < ? OR (name = ? AND sub < ?))", r.To.Name, r.To.Name, r.To.Sub)
	}
	return text, args
}

// list repeats a text.
func list(text, between string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+between, n), between)
}

// joined is the statements as one text, for a server that takes several in one.
func joined(list []statement) statement {
	var all statement
	var texts []string
	for _, one := range list {
		texts = append(texts, one.text)
		all.args, all.parts = append(all.args, one.args...), max(all.parts, one.parts)
	}
	all.text = strings.Join(texts, "; ")
	return all
}

// look sends statements one after the other, and calls each for their rows. One of them has a sight.
func look(ctx context.Context, conn *sql.Conn, list []statement, each func(part int, r kv.Record)) (now sight, err error) {
	lives := 0
	for _, one := range list {
		err := query(ctx, conn, one, func(part int, r kv.Record) error {
			if part >= 0 {
				each(part, r)
				return nil
			}
			lives++
			micros, err := strconv.ParseInt(string(r.Value), 10, 64)
			if err != nil {
				return fmt.Errorf("the clock of the server: %w", err)
			}
			now = sight{life{int64(r.Version), r.Key.Name}, r.Key.Sub, time.UnixMicro(micros)}
			return nil
		})
		if err != nil {
			return now, err
		}
	}
	if lives != 1 {
		return now, errNoLife
	}
	return now, nil
}

// query calls each for each row, whichever of the statements in the text it is from.
func query(ctx context.Context, conn *sql.Conn, s statement, each func(part int, r kv.Record) error) error {
	rows, err := conn.QueryContext(ctx, s.text, s.args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for more := true; more; more = rows.NextResultSet() {
		for rows.Next() {
			var part int
			var version int64
			var kind, name, sub string
			var value sql.RawBytes
			if err := rows.Scan(&part, &kind, &name, &sub, &version, &value); err != nil {
				return err
			}
			r := kv.Record{Key: kv.Key{Kind: kv.Kind(kind), Name: name, Sub: sub}, Version: uint64(version), Value: json.RawMessage(string(value))}
			if err := each(part, r); err != nil {
				return err
			}
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
