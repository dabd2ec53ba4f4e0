package zookeeper

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/store"
)

// limits are what a request may have by ZooKeeper's default, jute.maxbuffer = 1 MiB, with room
// for paths and ACLs.
var limits = store.Limits{Keys: 120, Bytes: 768 << 10}

// Bounds of connections.
const (
	sessionTimeout = 6 * time.Second  // nothing depends on it
	loginTimeout   = time.Second      // for a session
	longest        = 10 * time.Second // of a call whose context has no end
)

// options say where the records are.
type options struct {
	servers            []string // as HOST:PORT
	chroot             string
	username, password string
	tls                *tls.Config // nil: without
	namespace          string
}

// A server is a [store.Store] on the servers of one ZooKeeper ensemble. It talks to one of
// them, and to the next one if that does not answer.
type server struct {
	options
	root string // of all nodes
	acl  []zk.ACL

	turn    chan struct{}  // held by who opens a link
	running sync.WaitGroup // everything that was begun

	mu    sync.Mutex
	at    int   // the server in use
	link  *link // to it; nil: not yet connected
	lives lives
}

var _ store.Server = (*server)(nil)

func open(o options) (*server, error) {
	if len(o.servers) == 0 {
		return nil, errors.New("zookeeper: no servers")
	}
	s := &server{
		options: o, root: strings.TrimRight(o.chroot, "/") + "/quorate/" + escape(o.namespace),
		acl: zk.WorldACL(zk.PermAll), turn: make(chan struct{}, 1), at: rand.IntN(len(o.servers)),
	}
	if o.username != "" {
		s.acl = zk.AuthACL(zk.PermAll) // of the user who creates the node
	}
	return s, nil
}

// Name implements [store.Server].
func (s *server) Name() string { return "ZooKeeper " + strings.Join(s.servers, ",") + s.chroot }

// Limits implements [store.Store].
func (s *server) Limits() store.Limits { return limits }

// Close implements [store.Server].
func (s *server) Close() {
	if l := s.current(); l != nil {
		s.leave(l)
		s.release(l)
	}
	s.running.Wait()
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

// do makes a call of the server in use. If that does not answer, it asks the others: for what
// may be repeated, and for what was not sent.
func do[T any](ctx context.Context, s *server, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (v T, err error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for left := len(s.servers); ; left-- {
		if ctx.Err() != nil {
			return v, fmt.Errorf("%w: %w", store.ErrNotSent, ctx.Err())
		}
		l, err := s.acquire(ctx, left > 1)
		sent := err == nil
		if sent {
			v, err = ask(ctx, s, l, repeatable && left > 1, call)
			sent = !errors.Is(err, zk.ErrNoServer)
		}
		if err == nil {
			return v, nil
		}
		err, away := s.judge(ctx, err, sent, l.server)
		if away {
			s.leave(l)
		}
		if !away || left == 1 || sent && !repeatable {
			return v, err
		}
	}
}

// ask makes one call. If it may be repeated at another server, it takes at most half of the
// time that is left. The client knows no contexts: a call that takes longer is left behind. It
// ends when the server answers, or has been silent for two thirds of the session's timeout.
func ask[T any](ctx context.Context, s *server, l *link, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (v T, err error) {
	ctx, cancel := sharing(ctx, repeatable)
	defer cancel()
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	s.running.Go(func() {
		defer s.release(l)
		value, err := call(ctx, l.Conn)
		answers <- answer{value, err}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// sharing bounds a call by half of the time that is left, if another server may be asked, too.
func sharing(ctx context.Context, others bool) (context.Context, context.CancelFunc) {
	until, _ := ctx.Deadline()
	if others {
		until = time.Now().Add(time.Until(until) / 2)
	}
	return context.WithDeadline(ctx, until)
}
