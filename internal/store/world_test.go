package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/kvtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/quorum"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/internal/store/single"
	"github.com/quorate/quorate/internal/store/single/claims"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

const (
	ttl   = time.Second
	grace = 4 * time.Second
)

// A world is a store, its locks, and the store as one side of a copy.
type world struct {
	store.Side
	locker locking.Locker
	forget func(context.Context, string) error
	join   func(context.Context) error // as a replica does
	isNew  func(context.Context) error // declares it new
	queue  func(context.Context) error // asks for a run as an application does; nil: it cannot
}

// kinds are the kinds of stores. They are empty.
var kinds = map[string]func(*testing.T) world{"redis": onRedis, "one store": onOne}

func onRedis(t *testing.T) world {
	t.Helper()
	cfg := membership.Config{Namespace: "copy", Timeout: 200 * time.Millisecond, TTL: ttl, Grace: grace}
	for _, u := range redistest.URLs(redistest.StartN(t, 3)) {
		cfg.Nodes = append(cfg.Nodes, membership.NodeConfig{URL: u})
	}
	c, err := quorum.Open(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return world{c.Side("copy"), c.Locker(), c.ForgetLock, c.Set.Join, func(ctx context.Context) error { return c.Set.Init(ctx, false) }, nil}
}

func onOne(t *testing.T) world {
	t.Helper()
	server := new(kvtest.Memory)
	c, err := single.Open(server, claims.Config{TTL: ttl, Grace: grace, Timeout: 200 * time.Millisecond}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return world{c.Side("copy"), c.Claims, c.ForgetLock, func(ctx context.Context) error {
		_, err := c.Look(ctx)
		return err
	}, func(ctx context.Context) error { return claims.DeclareNew(ctx, server) }, func(ctx context.Context) error {
		text, err := commands.Command{ID: "queued", Kind: commands.Trigger, Job: "report"}.Encode()
		if err != nil {
			return err
		}
		_, stamp, err := server.Read(ctx)
		if err != nil {
			return err
		}
		_, err = server.Commit(ctx, kv.Txn{Incarnation: stamp.Incarnation, Put: []kv.Write{{Key: kv.Key{Kind: kv.Commands, Name: "queue", Sub: "queued"}, Value: text}}})
		return err
	}}
}

// at is the n-th tick of a job, in the recent past.
func (f *filled) at(n int) time.Time { return f.start.Add(time.Duration(n) * time.Millisecond) }

// filled is a store with something of every kind.
type filled struct {
	world
	t     *testing.T
	start time.Time
	last  map[string]locking.Token // by name
}

func fill(t *testing.T, w world) *filled {
	t.Helper()
	if err := w.isNew(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &filled{world: w, t: t, start: time.Now().Add(-time.Minute).Truncate(time.Second).UTC(), last: map[string]locking.Token{}}
	for n := range 3 {
		f.run("report", n, locking.AtMostOnce)
	}
	f.claim("report", 3, locking.AtMostOnce) // interrupted
	for n := range 2 {
		f.run("trimmed", n, locking.AtMostOnce)
	}
	f.run("again", 1, locking.AtLeastOnce)
	f.claim("again", 2, locking.AtLeastOnce)
	lease := f.acquire(locking.Request{Name: "plain"})
	must(t, lease.Release(t.Context(), nil))
	f.run("gone", 5, locking.AtMostOnce) // with the largest token
	soon(t, func() error {               // a node may get the claim after FORGET: then it is forgotten again
		return errors.Join(w.forget(t.Context(), "gone"), known(t, w, "gone"))
	})
	r := w.Records()
	_, err := r.Ledger.Record(t.Context(), ledger.Entry{Job: "report", Tick: f.at(-1), Outcome: ledger.Missed, Reason: ledger.Reason{Code: ledger.CodeNoQuorum}})
	must(t, err)
	must(t, r.Ledger.Store(t.Context(), "report", jobs.History{}, ledger.Log{Tick: f.at(3), Token: f.last["report"], Text: "hello\n"}))
	soon(t, func() error { // a node may get the record of a run after it has dropped others
		if err := r.Ledger.Store(t.Context(), "trimmed", jobs.History{Keep: 1}); err != nil {
			return err
		}
		list, err := r.Ledger.Runs(t.Context(), ledger.Query{Job: "trimmed", Limit: 10})
		if len(list) != 1 {
			err = errors.Join(err, fmt.Errorf("%d runs are left", len(list)))
		}
		return err
	})
	must(t, r.Roster.Publish(t.Context(), []roster.JobInfo{{
		Name: "report", Hash: "v1", ConfigHash: "set", Replica: "a", Published: f.start, Account: roster.Account{First: f.start, Until: f.at(9)},
	}}))
	must(t, r.JobSets.KeepSet(t.Context(), "set", []byte("packed")))
	f.command()
	return f
}

// command asks for something of every kind.
func (f *filled) command() {
	f.t.Helper()
	store := f.Records().Commands
	for _, command := range []commands.Command{
		{ID: "1", Kind: commands.Pause, Job: "report", By: "ann", Reason: "test"},
		{ID: "2", Kind: commands.Pause, Tag: "night", By: "ann", Reason: "test"},
		{ID: "3", Kind: commands.Resume, Job: "report", By: "ann", Reason: "test"},
		{ID: "4", Kind: commands.Trigger, Job: "report", By: "ann", Reason: "test", Within: time.Hour},
		{ID: "5", Kind: commands.Trigger, Job: "again", By: "ann", Reason: "test", Within: time.Hour},
	} {
		_, err := store.Do(f.t.Context(), command)
		must(f.t, err)
	}
	must(f.t, store.Close(f.t.Context(), "5", "done"))
	notes, _ := store.(commands.Notebook)
	must(f.t, notes.Note(f.t.Context(), commands.Command{Kind: commands.Release, Job: "report", By: "ann", Reason: "test", Result: "released"}))
	must(f.t, notes.Note(f.t.Context(), commands.Command{Kind: commands.Trigger, Job: "report", By: "eve", Result: commands.RefusedResult + "not allowed"}))
}

// claim claims a tick and never ends it.
func (f *filled) claim(job string, n int, mode locking.Mode) locking.Lease {
	f.t.Helper()
	return f.acquire(locking.Request{Name: job, Tick: f.at(n), Mode: mode, Holder: "a", Note: ledger.EncodeNote(ledger.Entry{Replica: "a", Started: f.start})})
}

// run runs a tick.
func (f *filled) run(job string, n int, mode locking.Mode) {
	f.t.Helper()
	lease := f.claim(job, n, mode)
	must(f.t, lease.Release(f.t.Context(), ledger.EncodeNote(ledger.Entry{Replica: "a", Outcome: ledger.Succeeded, Started: f.start, Finished: f.at(9)})))
}

// acquire gets a lease, within a while.
func (f *filled) acquire(req locking.Request) (lease locking.Lease) {
	f.t.Helper()
	soon(f.t, func() (err error) {
		lease, err = f.locker.TryAcquire(f.t.Context(), req)
		return err
	})
	f.last[req.Name] = lease.Claim().Token
	return lease
}

// known returns an error while a node knows a claim of the name.
func known(t *testing.T, w world, name string) error {
	t.Helper()
	m, err := w.Memory(t.Context())
	for _, c := range m.Claims {
		if c.Name == name {
			return fmt.Errorf("a node still knows a claim of %s", name)
		}
	}
	return err
}

// soon repeats do until it returns no error. Real servers are waited for in real time.
func soon(t *testing.T, do func() error) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := do()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
