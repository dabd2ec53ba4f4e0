package zookeeper

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/zookeeper/internal/session"
)

// errForgotten is why the outcome of a transaction counts as unknown.
var errForgotten = fmt.Errorf("%w: a backup was restored meanwhile", kv.ErrUnavailable)

// Commit implements [kv.Store]. ZooKeeper makes all operations of a batch or none. If one
// fails that stands for a condition, the transaction has lost. If another one fails, it is made again.
func (s *ensemble) Commit(ctx context.Context, t kv.Txn) (o kv.Outcome, err error) {
	if err := t.Check(limits); err != nil {
		return o, err
	}
	for guess := true; ; guess = false {
		b, err := s.batch(ctx, t, guess)
		if err != nil {
			return o, unsent(err)
		}
		_, seen := s.incarnations.before()
		r, err := do(ctx, s, false, func(_ context.Context, c *zk.Conn) ([]zk.MultiResponse, error) {
			r, err := c.Multi(b.ops...)
			refused := slices.IndexFunc(r, func(one zk.MultiResponse) bool { return session.IsRefusal(one.Error) })
			switch {
			case refused >= 0:
				err = r[refused].Error
			case len(r) > 0:
				err = nil // it has an answer
			}
			return r, err
		})
		if err != nil {
			return o, fmt.Errorf("committing: %w", err)
		}
		failed := slices.IndexFunc(r, func(one zk.MultiResponse) bool { return one.Error != nil })
		if failed < 0 {
			s.hints.put(t, b.version)
			return s.won(t, b, countOf(r[1].Stat), seen)
		}
		switch create, creates := b.ops[failed].(*zk.CreateRequest); {
		case failed == 0:
			_, o.Stamp, _ = s.Read(ctx) // it has lost in any case
			return o, nil
		case creates && errors.Is(r[failed].Error, zk.ErrNoNode):
			if _, err := do(ctx, s, true, func(_ context.Context, c *zk.Conn) (any, error) { return nil, s.makeDir(c, path.Dir(create.Path)) }); err != nil {
				return o, unsent(err)
			}
		case failed < b.conditions:
			return kv.Outcome{Stamp: kv.Stamp{Incarnation: t.Incarnation}}, nil
		}
	}
}

func (s *ensemble) won(t kv.Txn, b *batch, now, seen count) (o kv.Outcome, err error) {
	if now.below(seen) {
		s.incarnations.lost(parseIncarnation(t.Incarnation))
		return o, fmt.Errorf("committing: %w", errForgotten) // and nobody has noted it yet
	}
	s.incarnations.saw(parseIncarnation(t.Incarnation), now)
	o = kv.Outcome{Won: true, Stamp: kv.Stamp{Incarnation: t.Incarnation}}
	if len(t.Put) > 0 {
		o.Version = b.version
	}
	return o, nil
}

// unsent is the error of what came before a transaction.
func unsent(err error) error {
	if errors.Is(err, kv.ErrUnavailable) {
		err = notSent{err}
	}
	return fmt.Errorf("committing: %w", err)
}

// notSent is why a transaction was not sent.
type notSent struct{ error }

func (notSent) Is(target error) bool { return target == kv.ErrNotSent }

func (e notSent) Unwrap() error { return e.error }

// A batch is a transaction as operations of ZooKeeper.
type batch struct {
	s          *ensemble
	version    uint64 // of the records that it puts
	ops        []any  // the first checks the incarnation, the second counts
	conditions int    // so many stand for the incarnation and the conditions
}

// batch returns that of a transaction. The operations name what is stored of each record. For one
// without a condition that is guessed, or read.
func (s *ensemble) batch(ctx context.Context, t kv.Txn, guess bool) (*batch, error) {
	b := &batch{s: s, version: 1 + rand.Uint64N(math.MaxUint64)}
	incarnation := s.incarnationPath()
	b.add(&zk.CheckVersionRequest{Path: incarnation + "/" + escape(t.Incarnation), Version: -1}, &zk.SetDataRequest{Path: incarnation, Data: []byte(t.Incarnation), Version: -1})
	changes := map[kv.Key]func(stored uint64){}
	for _, w := range t.Put {
		changes[w.Key] = func(stored uint64) { b.put(w, stored) }
	}
	for _, k := range t.Delete {
		changes[k] = func(stored uint64) { b.remove(k, stored) }
	}
	for _, c := range t.If {
		if change, ok := changes[c.Key]; ok {
			change(c.Version)
			delete(changes, c.Key)
		} else {
			b.compare(c)
		}
	}
	b.conditions = len(b.ops)
	if guess {
		for k, version := range s.hints.get(t) {
			if change, ok := changes[k]; ok {
				change(version)
				delete(changes, k)
			}
		}
	}
	if len(changes) == 0 {
		return b, nil
	}
	list, err := do(ctx, s, true, func(ctx context.Context, conn *zk.Conn) ([]kv.Record, error) {
		if _, err := conn.Sync(s.root); err != nil {
			return nil, err
		}
		c := &cut{s: s, ctx: ctx, conn: conn, z: always, nodes: map[string]node{}}
		return each(ctx, slices.Collect(maps.Keys(changes)), c.get)
	})
	for _, r := range list {
		changes[r.Key](r.Version)
	}
	return b, err
}

func (b *batch) add(ops ...any) { b.ops = append(b.ops, ops...) }

// mark is the child of a record's node that only this version has.
func (b *batch) mark(k kv.Key, version uint64) string {
	return b.s.path(k) + "/" + strconv.FormatUint(version, 16)
}

// compare fails if a record is not as it was stored.
func (b *batch) compare(c kv.Compare) {
	if c.Version == 0 {
		b.remove(c.Key, 0)
	} else {
		b.add(&zk.CheckVersionRequest{Path: b.mark(c.Key, c.Version), Version: -1})
	}
}

// remove fails, too. To show that there is no node, it makes and deletes one.
func (b *batch) remove(k kv.Key, stored uint64) {
	if stored == 0 {
		b.add(b.s.create(b.s.path(k), nil))
	} else {
		b.add(&zk.DeleteRequest{Path: b.mark(k, stored), Version: -1})
	}
	b.add(&zk.DeleteRequest{Path: b.s.path(k), Version: -1})
}

// put fails, too.
func (b *batch) put(w kv.Write, stored uint64) {
	at, data := b.s.path(w.Key), append(binary.BigEndian.AppendUint64(nil, b.version), w.Value...)
	if stored == 0 {
		b.add(b.s.create(at, data))
	} else {
		b.add(&zk.DeleteRequest{Path: b.mark(w.Key, stored), Version: -1}, &zk.SetDataRequest{Path: at, Data: data, Version: -1})
	}
	b.add(b.s.create(b.mark(w.Key, b.version), nil))
}

func (s *ensemble) create(at string, data []byte) *zk.CreateRequest {
	return &zk.CreateRequest{Path: at, Data: data, Acl: s.acl}
}

// makeDir makes a directory and those above it. ZooKeeper itself deletes that of a name when it
// has been empty for a while.
func (s *ensemble) makeDir(c *zk.Conn, dir string) (err error) {
	for range 2 {
		if path.Dir(path.Dir(dir)) == s.root {
			_, err = c.CreateContainer(dir, nil, zk.FlagContainer, s.acl)
		} else {
			_, err = c.Create(dir, nil, zk.FlagPersistent, s.acl)
		}
		switch {
		case errors.Is(err, zk.ErrNodeExists):
			return nil
		case !errors.Is(err, zk.ErrNoNode):
			return err
		}
		if err := s.makeDir(c, path.Dir(dir)); err != nil {
			return err
		}
	}
	return err
}

// hints guess what is stored of records that a transaction puts without a condition: what this
// process has put last, or nothing. A wrong guess costs one transaction.
type hints struct {
	mu   sync.Mutex
	last map[kv.Key]uint64
}

// maxHints bounds the memory. Beyond it, it begins again.
const maxHints = 10_000

func (h *hints) get(t kv.Txn) map[kv.Key]uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := map[kv.Key]uint64{}
	for _, w := range t.Put {
		list[w.Key] = h.last[w.Key]
	}
	return list
}

// put notes the versions of a transaction that has won.
func (h *hints) put(t kv.Txn, version uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.last == nil || len(h.last) > maxHints {
		h.last = map[kv.Key]uint64{}
	}
	for _, w := range t.Put {
		h.last[w.Key] = version
	}
	for _, k := range t.Delete {
		delete(h.last, k)
	}
}
