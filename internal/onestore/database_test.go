package onestore_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/finishing"
	"github.com/quorate/quorate/internal/onestore"
	"github.com/quorate/quorate/internal/onestore/claims"
	"github.com/quorate/quorate/internal/onestore/records"
	"github.com/quorate/quorate/internal/rules"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/storetest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/ledger"
)

const jobName = "job"

// A database is a store in memory with transactions that end runs, as finish_run does on
// PostgreSQL.
type database struct {
	*storetest.Memory
	// lock is full while a transaction holds the claims of the job.
	lock chan struct{}
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	d := &database{Memory: new(storetest.Memory), lock: make(chan struct{}, 1)}
	if err := claims.DeclareNew(t.Context(), d.Memory); err != nil {
		t.Fatal(err)
	}
	return d
}

// A session is what one life of a replica has of the database.
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
		return errors.Join(store.ErrUnavailable, ctx.Err())
	default:
		return nil
	}
}

func (s *session) Read(ctx context.Context, keys ...store.Key) ([]store.Record, store.Stamp, error) {
	if err := s.answers(ctx); err != nil {
		return nil, store.Stamp{}, err
	}
	return s.database.Read(ctx, keys...)
}

func (s *session) List(ctx context.Context, ranges ...store.Range) ([][]store.Record, store.Stamp, error) {
	if err := s.answers(ctx); err != nil {
		return nil, store.Stamp{}, err
	}
	return s.database.List(ctx, ranges...)
}

// Commit waits for a transaction that ends a run.
func (s *session) Commit(ctx context.Context, t store.Txn) (store.Outcome, error) {
	if err := s.answers(ctx); err != nil {
		return store.Outcome{}, err
	}
	if slices.ContainsFunc(t.If, func(c store.Compare) bool { return c.Key == records.ClaimsKey(jobName) }) {
		select {
		case s.lock <- struct{}{}:
			defer s.unlock()
		case <-ctx.Done():
			return store.Outcome{}, store.ErrLocked
		}
	}
	return s.database.Commit(ctx, t)
}

func (d *database) unlock() { <-d.lock }

// finish returns a transaction with the end of the run, and with an effect. It holds the
// claims of the job.
func (s *session) finish(ctx context.Context) (store.Txn, error) {
	end, err := finishing.From(ctx)()
	if err := errors.Join(err, s.answers(ctx)); err != nil {
		return store.Txn{}, err
	}
	s.lock <- struct{}{}
	list, stamp, err := s.database.Read(context.WithoutCancel(ctx), records.ClaimsKey(jobName))
	if err == nil {
		var t store.Txn
		if t, err = ending(list[0], stamp.Life, end); err == nil {
			return t, nil
		}
	}
	s.unlock()
	return store.Txn{}, err
}

// ending is the transaction that ends the run with the token.
func ending(read store.Record, life string, end finishing.End) (store.Txn, error) {
	all, err := records.Decode[records.Claims](read)
	if err != nil {
		return store.Txn{}, err
	}
	for stream, c := range all.Streams {
		if c.Token != end.Token || !c.Open() || c.Owner != all.Open {
			continue
		}
		c.Ended, all.Open = string(rules.OK), ""
		all.Streams[stream] = c
		e := records.Entry{
			Kind: records.Finished, Stream: c.Stream, Tick: c.Tick, Token: c.Token, Attempt: c.Attempt, Owner: c.Owner, Holder: c.Holder, Note: end.Note,
		}
		return store.Txn{Life: life, If: []store.Compare{{Key: read.Key, Version: read.Version}}, Put: []store.Write{
			records.Put(read.Key, all), records.Put(records.EntryKey(jobName, e), e), records.Put(effectOf(time.UnixMilli(c.Tick), locking.Token(c.Token)), true),
		}}, nil
	}
	return store.Txn{}, fmt.Errorf("token %d is stale", end.Token)
}

// commit makes the transaction, which may have come from a session that is gone.
func (d *database) commit(t store.Txn) error {
	defer d.unlock()
	o, err := d.Memory.Commit(context.Background(), t)
	if err == nil && !o.Won {
		err = errors.New("rolled back")
	}
	return err
}

// effectOf is the key of the effect of a run.
func effectOf(tick time.Time, token locking.Token) store.Key {
	return store.Key{Kind: store.Cluster, Name: fmt.Sprint("effect ", tick.UnixMilli()), Sub: fmt.Sprint(uint64(token))}
}

// effects are the tokens of the runs that have left an effect of the tick.
func (d *database) effects(tick time.Time) (tokens []string) {
	lists, _, _ := d.List(context.Background(), store.Of(store.Cluster, effectOf(tick, 0).Name)) // the memory always answers
	for _, r := range lists[0] {
		tokens = append(tokens, r.Key.Sub)
	}
	return tokens
}

// ticks are the rows of the ledger, the newest first.
func (d *database) ticks(t *testing.T) []ledger.Entry {
	t.Helper()
	c, err := onestore.Open(d.Memory, claims.Config{Grace: grace})
	if err != nil {
		t.Fatal(err)
	}
	list, err := c.Ledger.Ticks(t.Context(), ledger.Query{Job: jobName, Limit: 1000})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return list
}
