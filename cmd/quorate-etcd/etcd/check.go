package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/store"
)

// manyRevisions is how many revisions an etcd may keep that compacts its history.
const manyRevisions = 100_000

// Check implements [store.Server].
func (s *server) Check(ctx context.Context) (found store.Checkup, err error) {
	err = s.do(ctx, true, func(ctx context.Context, c *clientv3.Client) error {
		found = store.Checkup{}
		s.mu.Lock()
		member := c.Endpoints()[0]
		s.mu.Unlock()
		status, err := c.Status(ctx, member)
		if err != nil {
			return err
		}
		found.Version = "etcd " + status.Version
		if err := s.countMembers(ctx, c, &found); err != nil {
			return err
		}
		return s.findOldRevisions(ctx, c, status.Header.Revision, &found)
	})
	return found, err
}

func (s *server) countMembers(ctx context.Context, c *clientv3.Client, found *store.Checkup) error {
	list, err := c.MemberList(ctx)
	if err != nil {
		return err
	}
	switch voting := voters(list.Members); {
	case voting == 1:
		found.Findings = append(found.Findings, store.Finding{Topic: "members", Text: "etcd has one member: no tick runs while it is down, and all is lost with its disk; three survive the loss of one"})
	case voting%2 == 0:
		found.Findings = append(found.Findings, store.Finding{Topic: "members", Text: fmt.Sprintf("etcd has %d members, which survive no more losses than %d: add or remove one", voting, voting-1)})
	case voting > len(s.endpoints):
		found.Findings = append(found.Findings, store.Finding{Topic: "members", Text: fmt.Sprintf("etcd has %d members, and etcd.endpoints lists %d: list all, so that a replica can reach another one", voting, len(s.endpoints))})
	}
	return nil
}

func voters(members []*etcdserverpb.Member) (n int) {
	for _, m := range members {
		if !m.IsLearner {
			n++
		}
	}
	return n
}

// findOldRevisions finds an etcd that keeps every value that a key ever had.
func (s *server) findOldRevisions(ctx context.Context, c *clientv3.Client, now int64, found *store.Checkup) error {
	if now <= manyRevisions {
		return nil
	}
	if _, err := c.Get(ctx, s.lifeKey(), clientv3.WithRev(now-manyRevisions)); err == nil {
		found.Findings = append(found.Findings, store.Finding{
			Topic: "compaction", Mend: true,
			Text: "etcd keeps each old value and will be full one day: start it with --auto-compaction-retention=1h",
		})
	}
	return nil
}
