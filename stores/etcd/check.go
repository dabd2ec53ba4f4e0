package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quorate/quorate/internal/retry"
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
			if _, err := c.Get(ctx, s.incarnationKey(), clientv3.WithRev(old)); err == nil {
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
	case voting > len(s.endpoints):
		text = fmt.Sprintf("etcd has %d members, and etcd.endpoints lists %d: list all, so that a replica can reach another one", voting, len(s.endpoints))
	default:
		return nil
	}
	return []kv.Finding{{Topic: "members", Text: text}}
}

// judge turns an error of the client into one of a store. It reports whether another member
// may do better.
func (s *server) judge(ctx context.Context, err error, sent bool, member string) (_ error, away bool) {
	var doing string
	if login, ok := errors.AsType[loginError](err); ok {
		doing, err = "logging in for a token: ", login.error
	}
	known, _ := errors.AsType[rpctypes.EtcdError](rpctypes.Error(err))
	code, text := status.Code(err), status.Convert(err).Message()
	if known.Error() != "" {
		code, text = known.Code(), known.Error()
	}
	switch text = doing + text; {
	case errors.Is(known, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %s", kv.ErrTooLarge, text), false
	case errors.Is(known, rpctypes.ErrNoSpace):
		return errors.New("etcd is full: compact and defragment it, then clear the alarm with etcdctl alarm disarm; or raise --quota-backend-bytes"), false
	case doing != "" && errors.Is(known, rpctypes.ErrAuthFailed):
		return fmt.Errorf("%w: %s: %s", kv.ErrLogin, member, text), false
	case errors.Is(known, rpctypes.ErrUserEmpty) && s.username == "":
		return fmt.Errorf("etcd %s refuses it (%s): it asks for a user: set etcd.username and etcd.password", member, text), false
	case refusesToken(err):
		return fmt.Errorf("etcd %s refuses it, %d times with the token of a new login: %s", member, logins, text), false
	case code == codes.PermissionDenied:
		return fmt.Errorf("etcd %s refuses it (%s): the user %s needs the permission readwrite for the prefix %s", member, text, s.token.Load().user, s.prefix), false
	case code == codes.Unauthenticated, code == codes.InvalidArgument, code == codes.Unimplemented:
		return fmt.Errorf("etcd %s refuses it: %s", member, text), false
	}
	because := kv.ErrUnavailable
	if !sent {
		because = kv.ErrNotSent
	}
	err = retry.Ended(ctx, fmt.Errorf("%w: %s: %s", because, member, text))
	return err, !errors.Is(ctx.Err(), context.Canceled)
}
