package etcd

import (
	"context"
	"errors"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/metadata"
)

// logins is how often a call is made: users may change again while it logs in.
const logins = 3

// A token shows who calls. All members take it. etcd forgets it after a while, in a restart, and
// when somebody changes users. The client of etcd could log in, too: but it sends the old token with
// that, which etcd 3.4 refuses for ever.
type token struct {
	text   string // empty: etcd asks for no user
	user   string // whose it is
	number int    // of the login; 0: none yet
}

// in returns the context of a call with the token.
func (t token) in(ctx context.Context) context.Context {
	if t.text == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, rpctypes.TokenFieldNameGRPC, t.text)
}

// login returns a token that is newer than the one that was refused. Calls that wait for one share it.
func (s *server) login(ctx context.Context, c *clientv3.Client, refused token) (token, error) {
	if s.Username == "" {
		return token{}, nil
	}
	if last := s.token.Load(); last.number > refused.number {
		return *last, nil
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return token{}, loginError{ctx.Err()}
	}
	last := s.token.Load()
	if last.number > refused.number {
		return *last, nil
	}
	now, err := s.fresh()
	if err != nil {
		return token{}, loginError{err}
	}
	next := token{user: now.Username, number: last.number + 1}
	switch r, err := c.Authenticate(ctx, now.Username, now.Password); {
	case err == nil:
		next.text = r.Token
	case !errors.Is(err, rpctypes.ErrAuthNotEnabled):
		return token{}, loginError{err}
	}
	s.token.Store(&next)
	return next, nil
}

// A loginError is why there is no token for a call, which was not made then.
type loginError struct{ error }

func (e loginError) Error() string { return "logging in for a token: " + e.error.Error() }

func (e loginError) Unwrap() error { return e.error }

// refusesToken reports whether etcd has refused a call because of its token, or because it had none.
// It has changed nothing then: it compares tokens before a transaction. Older releases have no code for
// a change of users.
func refusesToken(err error) bool {
	known := rpctypes.Error(err)
	return errors.Is(known, rpctypes.ErrInvalidAuthToken) || errors.Is(known, rpctypes.ErrAuthOldRevision) || errors.Is(known, rpctypes.ErrUserEmpty) ||
		err != nil && strings.Contains(err.Error(), "auth: revision in header is old")
}
