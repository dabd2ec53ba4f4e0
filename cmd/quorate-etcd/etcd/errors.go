package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/quorate/quorate/internal/store"
)

// neverSent reports whether a call has failed for lack of a connection.
func neverSent(err error) bool {
	return status.Code(err) == codes.Unavailable && strings.Contains(err.Error(), "while dialing")
}

// judge turns an error of the client into one of a store. It reports whether another member
// may do better.
func (s *server) judge(ctx context.Context, err error, sent bool, member string) (_ error, away bool) {
	known, _ := errors.AsType[rpctypes.EtcdError](rpctypes.Error(err))
	code, text := status.Code(err), status.Convert(err).Message()
	if known.Error() != "" {
		code, text = known.Code(), known.Error()
	}
	switch {
	case errors.Is(known, rpctypes.ErrRequestTooLarge):
		return fmt.Errorf("%w: %s", store.ErrTooLarge, text), false
	case errors.Is(known, rpctypes.ErrNoSpace):
		return errors.New("etcd is full: compact and defragment it, then clear the alarm with etcdctl alarm disarm; or raise --quota-backend-bytes"), false
	case code == codes.PermissionDenied, code == codes.Unauthenticated, code == codes.InvalidArgument, code == codes.Unimplemented:
		return fmt.Errorf("etcd %s refuses it: %s", member, text), false
	}
	because := store.ErrUnavailable
	if !sent {
		because = store.ErrNotSent
	}
	err = fmt.Errorf("%w: %s: %s", because, member, text)
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return err, !errors.Is(ctx.Err(), context.Canceled)
}
