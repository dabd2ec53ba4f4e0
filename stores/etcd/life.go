package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// A life is what the life key holds: the identity of the etcd cluster, and a number that
// grows when the cluster was seen to have forgotten something. Every transaction compares
// it. Two things show that a backup was restored: the cluster has another identity, or its
// revision is below one that this process has seen.
type life struct {
	cluster uint64
	number  int
}

func (l life) String() string { return fmt.Sprintf("%016x.%d", l.cluster, l.number) }

// parseLife is the inverse of String; the zero life for anything else.
func parseLife(text string) (l life) {
	if _, err := fmt.Sscanf(text, "%x.%d", &l.cluster, &l.number); err != nil {
		return life{}
	}
	return l
}

// before returns what was known before a call.
func (s *server) before() (life, int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known, s.revision
}

// saw notes an answer in a life.
func (s *server) saw(now life, revision int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now != s.known {
		s.known, s.revision = now, 0
	}
	s.revision = max(s.revision, revision)
}

// forgot reports whether an answer shows that the cluster has forgotten something, and that
// nobody has noted it. Known and revision are from before the call.
func forgot(known, stored life, revision int64, h *etcdserverpb.ResponseHeader) bool {
	return stored.cluster != h.ClusterId ||
		stored.cluster == known.cluster && stored.number <= known.number && h.Revision < revision
}

// begin notes a new life in place of the stored version, if no other process was first.
func (s *server) begin(ctx context.Context, c *clientv3.Client, next life, stored uint64) error {
	_, err := c.Txn(ctx).If(clientv3.Compare(clientv3.ModRevision(s.lifeKey()), "=", int64(stored))).
		Then(clientv3.OpPut(s.lifeKey(), next.String())).Commit()
	return err
}
