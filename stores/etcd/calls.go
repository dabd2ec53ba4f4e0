package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// Keys are KIND, zero byte, NAME, zero byte, SUB, after the prefix: so their order is that of
// package kv.
func (s *server) key(k kv.Key) string {
	return s.point(k.Kind, kv.Point{Name: k.Name, Sub: k.Sub})
}

func (s *server) point(kind kv.Kind, p kv.Point) string {
	return s.prefix + string(kind) + "\x00" + p.Name + "\x00" + p.Sub
}

func (s *server) incarnationKey() string { return s.prefix + "life" }

// parseKey is the inverse of key.
func (s *server) parseKey(text []byte) kv.Key {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(string(text), s.prefix), "\x00")
	name, sub, _ := strings.Cut(rest, "\x00")
	return kv.Key{Kind: kv.Kind(kind), Name: name, Sub: sub}
}

// Read implements [kv.Store].
func (s *server) Read(ctx context.Context, keys ...kv.Key) ([]kv.Record, kv.Stamp, error) {
	var gets []clientv3.Op
	for _, k := range keys {
		gets = append(gets, clientv3.OpGet(s.key(k)))
	}
	lists, stamp, err := s.read(ctx, gets)
	if err != nil {
		return nil, stamp, err
	}
	list := make([]kv.Record, len(keys))
	for i, k := range keys {
		list[i].Key = k
		copy(list[i:], lists[i])
	}
	return list, stamp, nil
}

// List implements [kv.Store].
func (s *server) List(ctx context.Context, ranges ...kv.Range) ([][]kv.Record, kv.Stamp, error) {
	var gets []clientv3.Op
	for _, r := range ranges {
		to := s.prefix + string(r.Kind) + "\x01"
		if r.To != (kv.Point{}) {
			to = s.point(r.Kind, r.To)
		}
		gets = append(gets, clientv3.OpGet(s.point(r.Kind, r.From), clientv3.WithRange(to), clientv3.WithLimit(int64(r.Limit))))
	}
	return s.read(ctx, gets)
}

// read makes the gets, all of one revision, and finds the incarnation.
func (s *server) read(ctx context.Context, gets []clientv3.Op) (lists [][]kv.Record, stamp kv.Stamp, err error) {
	err = s.do(ctx, true, func(ctx context.Context, c *clientv3.Client) (err error) {
		lists, stamp, err = s.readFrom(ctx, c, gets)
		return err
	})
	return lists, stamp, err
}

// readFrom begins another incarnation if the answer shows one, and then reads again.
func (s *server) readFrom(ctx context.Context, c *clientv3.Client, gets []clientv3.Op) (lists [][]kv.Record, stamp kv.Stamp, err error) {
	known, seen := s.before()
	for revision := int64(0); revision == 0 || len(gets) > 0; {
		n := min(len(gets), limits.Keys)
		ops := append(gets[:n:n], clientv3.OpGet(s.incarnationKey()))
		for i := range ops {
			clientv3.WithRev(revision)(&ops[i]) // 0: the last one
		}
		r, err := c.Txn(ctx).Then(ops...).Commit()
		if err != nil {
			return nil, stamp, err
		}
		if revision == 0 {
			stored := append(s.records(r.Responses[n]), kv.Record{})[0]
			now := parseIncarnation(string(stored.Value))
			if forgot(known, now, seen, r.Header) {
				if err := s.begin(ctx, c, incarnation{r.Header.ClusterId, max(known.number, now.number) + 1}, stored.Version); err != nil {
					return nil, stamp, err
				}
				continue
			}
			s.saw(now, r.Header.Revision)
			revision, stamp.Incarnation = r.Header.Revision, now.String()
		}
		for _, part := range r.Responses[:n] {
			lists = append(lists, s.records(part))
		}
		gets = gets[n:]
	}
	return lists, stamp, nil
}

func (s *server) records(part *etcdserverpb.ResponseOp) (list []kv.Record) {
	for _, found := range part.GetResponseRange().Kvs {
		list = append(list, kv.Record{Key: s.parseKey(found.Key), Version: uint64(found.ModRevision), Value: found.Value})
	}
	return list
}

// Commit implements [kv.Store].
func (s *server) Commit(ctx context.Context, t kv.Txn) (o kv.Outcome, err error) {
	if err := t.Check(limits); err != nil {
		return o, err
	}
	conditions := []clientv3.Cmp{clientv3.Compare(clientv3.Value(s.incarnationKey()), "=", t.Incarnation)}
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
	_, seen := s.before()
	own := parseIncarnation(t.Incarnation)
	err = s.do(ctx, false, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Txn(ctx).If(conditions...).Then(changes...).Else(clientv3.OpGet(s.incarnationKey())).Commit()
		switch {
		case err != nil:
			return err
		case !r.Succeeded:
			for _, kv := range r.Responses[0].GetResponseRange().Kvs {
				o.Stamp.Incarnation = string(kv.Value)
			}
			return nil
		case r.Header.ClusterId != own.cluster, r.Header.Revision < seen:
			return errors.New("a backup was restored meanwhile") // and nobody has noted it yet
		}
		s.saw(own, r.Header.Revision)
		o = kv.Outcome{Won: true, Stamp: kv.Stamp{Incarnation: t.Incarnation}}
		if len(t.Put) > 0 {
			o.Version = uint64(r.Header.Revision)
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("committing: %w", err)
	}
	return o, err
}

// An incarnation is what the key life holds: the identity of the etcd cluster, and a number that
// grows when the cluster was seen to have forgotten something. Every transaction compares
// it. Two things show that a backup was restored: the cluster has another identity, or its
// revision is below one that this process has seen.
type incarnation struct {
	cluster uint64
	number  int
}

func (l incarnation) String() string { return fmt.Sprintf("%016x.%d", l.cluster, l.number) }

// parseIncarnation is the inverse of String; the zero incarnation for anything else.
func parseIncarnation(text string) (l incarnation) {
	if _, err := fmt.Sscanf(text, "%x.%d", &l.cluster, &l.number); err != nil {
		return incarnation{}
	}
	return l
}

// before returns what was known before a call.
func (s *server) before() (incarnation, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.revision
}

// saw notes an answer in an incarnation.
func (s *server) saw(now incarnation, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now != s.known {
		s.known, s.revision = now, 0
	}
	s.revision = max(s.revision, revision)
}

// forgot reports whether an answer shows that the cluster has forgotten something, and that
// nobody has noted it. Known and revision are from before the call.
func forgot(known, stored incarnation, revision int64, h *etcdserverpb.ResponseHeader) bool {
	return stored.cluster != h.ClusterId ||
		stored.cluster == known.cluster && stored.number <= known.number && h.Revision < revision
}

// begin notes a new incarnation in place of the stored version, if no other process was first.
func (s *server) begin(ctx context.Context, c *clientv3.Client, next incarnation, stored uint64) error {
	_, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.incarnationKey()), "=", int64(stored))).
		Then(clientv3.OpPut(s.incarnationKey(), next.String())).Commit()
	return err
}
