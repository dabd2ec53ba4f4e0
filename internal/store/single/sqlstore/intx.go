package sqlstore

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/scheduler/commands"
)

// InTx writes records in a transaction of the application, which stays open for as long as that
// wants. So it locks no slots, and of what others need no more than the claims of a job.
type InTx struct {
	Tx    *sql.Tx
	Texts Texts
	Slots int // as in Config
	// Lock stands behind a SELECT that waits for a row to change it.
	Lock string
}

// Finish writes the end of a run.
func (x InTx) Finish(ctx context.Context, end finishtx.End) error {
	all, err := x.read(ctx, records.ClaimsKey(end.Job), x.Lock)
	if err != nil {
		return fmt.Errorf("locking the claims of %s: %w", end.Job, err)
	}
	if all.Version == 0 {
		return finishtx.ErrNoClaim
	}
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	read := func(lock string) func(kv.Key) (kv.Record, error) {
		return func(k kv.Key) (kv.Record, error) { return x.read(ctx, k, lock) }
	}
	puts, held, err := claims.EndInTransaction(all, read(""), now, end)
	if !held && (err == nil || errors.As(err, new(finishtx.Excluded))) {
		// The snapshot of the transaction may be older than the last extension. The locked row is the latest.
		puts, _, err = claims.EndInTransaction(all, read(x.Lock), now, end)
	}
	if err != nil {
		return err
	}
	for _, w := range puts {
		if err := x.put(ctx, w, 0, x.Texts.Again); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(end.Requests)) {
		known, err := x.read(ctx, commandKey("act", id), "")
		if err == nil && known.Version == 0 {
			_, err = x.queue(ctx, id, end.Requests[id], now)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Trigger queues a command that is ready, unless it is known. A replica makes it an act later.
func (x InTx) Trigger(ctx context.Context, command commands.Command) error {
	text, err := command.Encode()
	if err != nil {
		return err
	}
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	known, err := x.read(ctx, commandKey("act", command.ID), "")
	if err == nil && known.Version == 0 {
		if err = x.hasPlace(ctx, command); err == nil {
			known, err = x.queue(ctx, command.ID, text, now)
		}
	}
	if err != nil {
		return err
	}
	if other, err := commands.Decode(known.Value); err != nil || other.Fingerprint() != command.Fingerprint() {
		return &commands.ReusedIDError{ID: command.ID}
	}
	return nil
}

// hasPlace refuses a request too many. Requests of transactions at the same time may exceed the bound: then
// they wait in the queue.
func (x InTx) hasPlace(ctx context.Context, command commands.Command) error {
	var open int
	err := x.Tx.QueryRowContext(ctx, x.in("SELECT COUNT(*) FROM {t}records WHERE kind = {b} AND name IN ({b}, {b}) AND sub <> {b}"),
		inHex(string(kv.Commands), "queue", "open", command.ID)...).Scan(&open)
	if err == nil && open >= commands.MaxOpen {
		return commands.TooMany(command.Kind, commands.MaxOpen)
	}
	return err
}

// queue puts a request into the queue unless it is there, and returns it.
func (x InTx) queue(ctx context.Context, id string, text []byte, now time.Time) (kv.Record, error) {
	key := commandKey("queue", id)
	known, err := x.read(ctx, key, "")
	if err != nil || known.Version > 0 {
		return known, err
	}
	// Replicas take the oldest first: that with the smallest version.
	if err := x.put(ctx, kv.Write{Key: key, Value: text}, now.UnixMicro(), x.Texts.Keep); err != nil {
		return known, err
	}
	return x.read(ctx, key, x.Lock)
}

func commandKey(name, sub string) kv.Key { return kv.Key{Kind: kv.Commands, Name: name, Sub: sub} }

func (x InTx) now(ctx context.Context) (time.Time, error) {
	var micros int64
	err := x.Tx.QueryRowContext(ctx, "SELECT "+x.Texts.Clock).Scan(&micros)
	return time.UnixMicro(micros), err
}

// read reads a record, with what stands behind the statement.
func (x InTx) read(ctx context.Context, k kv.Key, lock string) (kv.Record, error) {
	r := kv.Record{Key: k}
	var version int64
	var value []byte
	err := x.Tx.QueryRowContext(ctx, x.in("SELECT version, value FROM {t}records WHERE kind = {b} AND name = {b} AND sub = {b}"+lock),
		inHex(string(k.Kind), k.Name, k.Sub)...).Scan(&version, &value)
	if errors.Is(err, sql.ErrNoRows) {
		return r, nil
	}
	r.Version, r.Value = uint64(version), value
	return r, err
}

// put writes a record that is not made or deleted by anybody else meanwhile, with at least a version. Over
// stands behind the INSERT, for one that exists.
func (x InTx) put(ctx context.Context, w kv.Write, least int64, over string) error {
	var slot int64
	err := x.Tx.QueryRowContext(ctx, x.Texts.in("SELECT version FROM {t}slots WHERE id = ?"), slotOf(w.Key, x.Slots)).Scan(&slot)
	if err != nil {
		return err
	}
	_, err = x.Tx.ExecContext(ctx, x.in("INSERT INTO {t}records (kind, name, sub, value, version) VALUES ({b}, {b}, {b}, {b}, ?)"+over),
		append(inHex(string(w.Key.Kind), w.Key.Name, w.Key.Sub, string(w.Value)), max(slot+1, least))...)
	return err
}

// in names the tables in a text, and has {b} for an argument of inHex.
func (x InTx) in(text string) string {
	return strings.ReplaceAll(x.Texts.in(text), "{b}", x.Texts.Bytes)
}

// inHex are arguments that no setting of the application's session converts.
func inHex(texts ...string) (args []any) {
	for _, text := range texts {
		args = append(args, hex.EncodeToString([]byte(text)))
	}
	return args
}
