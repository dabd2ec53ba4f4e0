package etcd

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quorate/quorate/internal/retry"
	"github.com/quorate/quorate/internal/store/single/kv"
)

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
	case errors.Is(known, rpctypes.ErrUserEmpty) && s.Username == "":
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
