package zookeeper

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/zookeeper/internal/session"
)

// limits are what a request may have by ZooKeeper's default, jute.maxbuffer = 1 MiB, with room
// for paths and ACLs.
var limits = kv.Limits{Keys: 120, Bytes: 768 << 10}

// options say where the records are.
type options struct {
	session.Config
	secured           bool // there is a user, who alone gets rights
	chroot, namespace string
}

// A server is a [kv.Store] on the servers of one ZooKeeper ensemble.
type server struct {
	*session.Client
	chroot string
	root   string // of all nodes
	acl    []zk.ACL
	lives  lives
	hints  hints
}

var _ kv.Server = (*server)(nil)

func open(o options) (*server, error) {
	c, err := session.New(o.Config)
	if err != nil {
		return nil, err
	}
	s := &server{Client: c, chroot: o.chroot, root: strings.TrimRight(o.chroot, "/") + "/quorate/" + escape(o.namespace), acl: zk.WorldACL(zk.PermAll)}
	if o.secured {
		s.acl = zk.AuthACL(zk.PermAll) // of the user who creates the node
	}
	return s, nil
}

// Name implements [kv.Server].
func (s *server) Name() string { return "ZooKeeper " + strings.Join(s.Servers, ",") + s.chroot }

// Limits implements [kv.Store].
func (s *server) Limits() kv.Limits { return limits }

// do makes a call. If it was refused, the error says what to do.
func do[T any](ctx context.Context, s *server, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (T, error) {
	v, err := session.Do(ctx, s.Client, repeatable, call)
	if session.IsRefusal(err) {
		err = s.refused(err)
	}
	return v, err
}

// refused says what to do about what ZooKeeper refuses.
func (s *server) refused(err error) error {
	who := "everybody, since zookeeper.username is not set,"
	if login, err := s.Login(); err == nil && login.Username != "" {
		who = "the user " + login.Username + " with this password"
	}
	return fmt.Errorf("ZooKeeper refuses it (%w): %s has no right to %s; check zookeeper.username and password, and the ACL of that node or the one above it", err, who, s.root)
}

// escape makes a text the name of a node: it has no slash and no =, and is neither empty nor dots.
func escape(text string) string {
	if strings.Trim(text, ".") == "" {
		return "%" + text
	}
	return url.QueryEscape(text)
}

// unescape is the inverse of escape. It reports whether the name is one of this store.
func unescape(name string) (string, bool) {
	if rest, ok := strings.CutPrefix(name, "%"); ok && strings.Trim(rest, ".") == "" {
		return rest, true
	}
	text, err := url.QueryUnescape(name)
	return text, err == nil
}
