package etcd

import (
	"cmp"
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/quorate/quorate/internal/store/single/kv"
)

// manyRevisions is how many revisions an etcd may keep that compacts its history.
const manyRevisions = 100_000

// Check implements [kv.Server].
func (s *server) Check(ctx context.Context) (found kv.Checkup, err error) {
	err = s.do(ctx, true, func(ctx context.Context, c *clientv3.Client) error {
		status, err := c.Status(ctx, c.Endpoints()[0])
		list, err2 := c.MemberList(ctx)
		if err := cmp.Or(err, err2); err != nil {
			return err
		}
		found = kv.Checkup{Version: "etcd " + status.Version, Findings: s.judgeMembers(list.Members)}
		if old := status.Header.Revision - manyRevisions; old > 0 {
			if _, err := c.Get(ctx, s.lifeKey(), clientv3.WithRev(old)); err == nil {
				found.Findings = append(found.Findings, kv.Finding{
					Topic: "compaction", Mend: true,
					Text: "etcd keeps each old value and will be full one day: start it with --auto-compaction-retention=1h",
				})
			}
		}
		return nil
	})
	return found, err
}

func (s *server) judgeMembers(members []*etcdserverpb.Member) []kv.Finding {
	var voting int
	var text string
	for _, m := range members {
		if !m.IsLearner {
			voting++
		}
	}
	switch {
	case voting == 1:
		text = "etcd has one member: no tick runs while it is down, and all is lost with its disk; three survive the loss of one"
	case voting%2 == 0:
		text = fmt.Sprintf("etcd has %d members, which survive no more losses than %d: add or remove one", voting, voting-1)
	case voting > len(s.Endpoints):
		text = fmt.Sprintf("etcd has %d members, and etcd.endpoints lists %d: list all, so that a replica can reach another one", voting, len(s.Endpoints))
	default:
		return nil
	}
	return []kv.Finding{{Topic: "members", Text: text}}
}
