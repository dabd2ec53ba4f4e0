package single_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/internal/finishtx"
	"github.com/quorate/quorate/internal/store/protocol"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/internal/store/single/records"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

const jobName = "job"

// A database is a store in memory with transactions that end runs, as finish_run does on
// PostgreSQL.
type database struct {
	*kvtest.Memory
	// lock is full while a transaction holds the claims of the job.
	lock chan struct{}
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{Memory: new(kvtest.Memory), lock: make(chan struct{}, 1)}
	if err := claims.DeclareNew(t.Context(), d.Memory); err != nil {
		t.Fatal(err)
	}
	return d
}

// A session is what one incarnation of a replica has of the database.
type session struct {
	*database
	gone chan struct{} // closed: nothing it sends arrives
}

// Schema says that it has such transactions.
func (s *session) Schema() string { return "memory" }

func (d *database) session() *session { return &session{database: d, gone: make(chan struct{})} }

// answers waits for the end of ctx if the session is gone.
func (s *session) answers(ctx context.Context) error {
	select {
	case <-s.gone:
		<-ctx.Done()
		return errors.Join(kv.ErrUnavailable, ctx.Err())
	default:
		return nil
	}
}

func (s *session) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	if err := s.answers(ctx); err != nil {
		return nil, kv.Stamp{}, err
	}
	return s.database.Read(ctx, keys...)
}

func (s *session) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	if err := s.answers(ctx); err != nil {
		return nil, kv.Stamp{}, err
	}
	return s.database.List(ctx, ranges...)
}

// Commit waits for a transaction that ends a run.
func (s *session) Commit(ctx context.Context, t kv.Txn) (kv.Outcome, error) {
	if err := s.answers(ctx); err != nil {
		return kv.Outcome{}, err
	}
	if slices.ContainsFunc(t.If, func(c kv.Compare) bool { return c.Key == records.ClaimsKey(jobName) }) {
		select {
		case s.lock <- struct{}{}:
			defer s.unlock()
		case <-ctx.Done():
			return kv.Outcome{}, kv.ErrLocked
		}
	}
	return s.database.Commit(ctx, t)
}

func (d *database) unlock() { <-d.lock }

// finish returns a transaction with the end of the run, and with an effect. It holds the
// claims of the job.
func (s *session) finish(ctx context.Context) (kv.Txn, error) {
	end, err := finishtx.From(ctx)()
	if err := errors.Join(err, s.answers(ctx)); err != nil {
		return kv.Txn{}, err
	}
	s.lock <- struct{}{}
	list, stamp, err := s.database.Read(context.WithoutCancel(ctx), records.ClaimsKey(jobName))
	if err == nil {
		var t kv.Txn
		if t, err = ending(list[0], stamp.Incarnation, end); err == nil {
			return t, nil
		}
	}
	s.unlock()
	return kv.Txn{}, err
}

// ending is the transaction that ends the run with the token.
func ending(read kv.Record, incarnation string, end finishtx.End) (kv.Txn, error) {
	all, err := records.Decode[records.Claims](read)
	if err != nil {
		return kv.Txn{}, err
	}
	for stream, c := range all.Streams {
		if c.Token != end.Token || !c.Open() || c.Owner != all.Open {
			continue
		}
		c.Ended, all.Open = protocol.OK, ""
		all.Streams[stream] = c
		e := records.Entry{
			Kind: records.Finished, Stream: c.Stream, Tick: c.Tick, Token: c.Token, Attempt: c.Attempt, Owner: c.Owner, Holder: c.Note, Note: end.Note,
		}
		return kv.Txn{Incarnation: incarnation, If: []kv.Compare{{Key: read.Key, Version: read.Version}}, Put: []kv.Write{
			records.Put(read.Key, all), records.Put(records.EntryKey(jobName, e), e), records.Put(effectOf(time.UnixMilli(c.Tick), locking.Token(c.Token)), true),
		}}, nil
	}
	return kv.Txn{}, fmt.Errorf("token %d is stale", end.Token)
}

// commit makes the transaction, which may have come from a session that is gone.
func (d *database) commit(t kv.Txn) error {
	defer d.unlock()
	o, err := d.Memory.Commit(context.Background(), t)
	if err == nil && !o.Won {
		err = errors.New("rolled back")
	}
	return err
}

// effectOf is the key of the effect of a run.
func effectOf(tick time.Time, token locking.Token) kv.Key {
	return kv.Key{Kind: kv.Cluster, Name: fmt.Sprint("effect ", tick.UnixMilli()), Sub: fmt.Sprint(uint64(token))}
}

// effects are the tokens of the runs that have left an effect of the tick.
func (d *database) effects(tick time.Time) (tokens []string) {
	lists, _, _ := d.List(context.Background(), kv.Of(kv.Cluster, effectOf(tick, 0).Name)) // the memory always answers
	for _, r := range lists[0] {
		tokens = append(tokens, r.Key.Sub)
	}
	return tokens
}

// ticks are the rows of the ledger, the newest first.
func (d *database) ticks(t *testing.T) []ledger.Entry {
	t.Helper()
	c, err := single.Open(d.Memory, claims.Config{Grace: grace}, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Ledger.Ticks(t.Context(), ledger.Query{Job: jobName, Limit: 1000})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return list
}
