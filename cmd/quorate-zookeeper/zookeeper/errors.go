package zookeeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/store"
)

// isRefusal reports whether trying again cannot help.
func isRefusal(err error) bool {
	return errors.Is(err, zk.ErrNoAuth) || errors.Is(err, zk.ErrAuthFailed) || errors.Is(err, zk.ErrInvalidACL)
}

// refused says what to do.
func (s *server) refused(err error) error {
	who := "everybody, since zookeeper.username is not set,"
	if s.username != "" {
		who = "the user " + s.username + " with this password"
	}
	return fmt.Errorf("ZooKeeper refuses it (%w): %s has no right to %s; check zookeeper.username and password, and the ACL of that node or the one above it", err, who, s.root)
}

// judge turns an error of the client into one of a store. It reports whether another server
// may do better.
func (s *server) judge(ctx context.Context, err error, sent bool, at string) (_ error, away bool) {
	if isRefusal(err) {
		return s.refused(err), false
	}
	because := store.ErrUnavailable
	if !sent {
		because = store.ErrNotSent
	}
	if ended := ctx.Err(); ended != nil {
		return fmt.Errorf("%w: %s: %w", because, at, errors.Join(err, ended)), !errors.Is(ended, context.Canceled)
	}
	return fmt.Errorf("%w: %s: %w", because, at, err), true
}
