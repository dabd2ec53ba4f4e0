package etcd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/store"
)

// Keys are KIND, zero byte, NAME, zero byte, SUB, after the prefix: so their order is that of
// package store.
func (s *server) key(k store.Key) string {
	return s.point(k.Kind, store.Point{Name: k.Name, Sub: k.Sub})
}

func (s *server) point(kind store.Kind, p store.Point) string {
	return s.prefix + string(kind) + "\x00" + p.Name + "\x00" + p.Sub
}

func (s *server) lifeKey() string { return s.prefix + "life" }

// parseKey is the inverse of key.
func (s *server) parseKey(text []byte) (k store.Key) {
	parts := strings.SplitN(strings.TrimPrefix(string(text), s.prefix), "\x00", 3)
	if len(parts) == 3 {
		k = store.Key{Kind: store.Kind(parts[0]), Name: parts[1], Sub: parts[2]}
	}
	return k
}

// Read implements [store.Store].
func (s *server) Read(ctx context.Context, keys ...store.Key) ([]store.Record, store.Stamp, error) {
	var gets []clientv3.Op
	for _, k := range keys {
		gets = append(gets, clientv3.OpGet(s.key(k)))
	}
	lists, stamp, err := s.read(ctx, gets)
	if err != nil {
		return nil, stamp, err
	}
	list := make([]store.Record, len(keys))
	for i, k := range keys {
		list[i].Key = k
		for _, kv := range lists[i] {
			list[i] = s.record(kv)
		}
	}
	return list, stamp, nil
}

// List implements [store.Store].
func (s *server) List(ctx context.Context, ranges ...store.Range) ([][]store.Record, store.Stamp, error) {
	var gets []clientv3.Op
	for _, r := range ranges {
		to := s.prefix + string(r.Kind) + "\x01"
		if r.To != (store.Point{}) {
			to = s.point(r.Kind, r.To)
		}
		gets = append(gets, clientv3.OpGet(s.point(r.Kind, r.From), clientv3.WithRange(to), clientv3.WithLimit(int64(r.Limit))))
	}
	found, stamp, err := s.read(ctx, gets)
	if err != nil {
		return nil, stamp, err
	}
	lists := make([][]store.Record, len(ranges))
	for i, kvs := range found {
		lists[i] = make([]store.Record, len(kvs))
		for j, kv := range kvs {
			lists[i][j] = s.record(kv)
		}
	}
	return lists, stamp, nil
}

func (s *server) record(kv *mvccpb.KeyValue) store.Record {
	return store.Record{Key: s.parseKey(kv.Key), Version: uint64(kv.ModRevision), Value: kv.Value}
}

// read makes the gets, all of one revision, and finds the life. It begins another life if the
// answer shows one.
func (s *server) read(ctx context.Context, gets []clientv3.Op) (lists [][]*mvccpb.KeyValue, stamp store.Stamp, err error) {
	for {
		var again bool
		err = s.do(ctx, true, func(ctx context.Context, c *clientv3.Client) (err error) {
			lists, stamp, again, err = s.readFrom(ctx, c, gets)
			return err
		})
		if err != nil || !again {
			return lists, stamp, err
		}
	}
}

// readFrom reports again if another life was begun.
func (s *server) readFrom(ctx context.Context, c *clientv3.Client, gets []clientv3.Op) (lists [][]*mvccpb.KeyValue, stamp store.Stamp, again bool, err error) {
	known, seen := s.lives.before()
	first := min(len(gets), limits.Keys)
	r, err := c.Txn(ctx).Then(append(slices.Clone(gets[:first]), clientv3.OpGet(s.lifeKey()))...).Commit()
	if err != nil {
		return nil, stamp, false, err
	}
	for _, part := range r.Responses[:first] {
		lists = append(lists, part.GetResponseRange().Kvs)
	}
	var stored *mvccpb.KeyValue
	var now life
	for _, stored = range r.Responses[first].GetResponseRange().Kvs {
		now = parseLife(string(stored.Value))
	}
	if forgot(known, now, seen, r.Header) {
		return nil, stamp, true, s.begin(ctx, c, known, r.Header, stored)
	}
	s.lives.saw(now, r.Header.Revision)
	for rest := range slices.Chunk(gets[first:], limits.Keys) {
		for i := range rest {
			rest[i] = clientv3.OpGet(string(rest[i].KeyBytes()), clientv3.WithRange(string(rest[i].RangeBytes())), clientv3.WithLimit(rest[i].Limit()), clientv3.WithRev(r.Header.Revision))
		}
		more, err := c.Txn(ctx).Then(rest...).Commit()
		if err != nil {
			return nil, stamp, false, err
		}
		for _, part := range more.Responses {
			lists = append(lists, part.GetResponseRange().Kvs)
		}
	}
	return lists, store.Stamp{Life: now.String()}, false, nil
}

// errOtherCluster is why the outcome of a transaction counts as unknown.
var errOtherCluster = errors.New("a backup was restored meanwhile")

// Commit implements [store.Store].
func (s *server) Commit(ctx context.Context, t store.Txn) (o store.Outcome, err error) {
	if err := t.Check(limits); err != nil {
		return o, err
	}
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.Value(s.lifeKey()), "=", t.Life)}
	for _, c := range t.If {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.key(c.Key)), "=", int64(c.Version)))
	}
	var changes []clientv3.Op
	for _, w := range t.Put {
		changes = append(changes, clientv3.OpPut(s.key(w.Key), string(w.Value)))
	}
	for _, k := range t.Delete {
		changes = append(changes, clientv3.OpDelete(s.key(k)))
	}
	_, seen := s.lives.before()
	own := parseLife(t.Life)
	err = s.do(ctx, false, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Txn(ctx).If(conditions...).Then(changes...).Else(clientv3.OpGet(s.lifeKey())).Commit()
		switch {
		case err != nil:
			return err
		case !r.Succeeded:
			for _, kv := range r.Responses[0].GetResponseRange().Kvs {
				o.Stamp.Life = string(kv.Value)
			}
			return nil
		case r.Header.ClusterId != own.cluster, r.Header.Revision < seen:
			return errOtherCluster // and nobody has noted it yet
		}
		s.lives.saw(own, r.Header.Revision)
		o = store.Outcome{Won: true, Stamp: store.Stamp{Life: t.Life}}
		if len(t.Put) > 0 {
			o.Version = uint64(r.Header.Revision)
		}
		return nil
	})
	if err != nil {
		return store.Outcome{}, fmt.Errorf("committing: %w", err)
	}
	return o, nil
}
