// Package zookeeper keeps everything in ZooKeeper, in place of Redis nodes. It is in a module of
// its own, so that nobody else carries ZooKeeper's client:
//
//	r, err := replica.New(replica.Config{
//		ZooKeeper: settings.ZooKeeper{Servers: []string{"10.0.0.1:2181", …}},
//		Store:     new(zookeeper.Store),
//		Jobs:      …,
//	})
//
// # On ZooKeeper
//
// All znodes are below CHROOT/quorate/NAMESPACE:
//
//	/life            the store's incarnation, written again by each transaction; its only child is
//	                 named after the incarnation
//	/KIND/NAME=      a record without a Sub
//	/KIND/NAME/SUB   any other record
//
// The data of a record are its version, a random number, and its value. Its only child is named
// after that version. ZooKeeper's own versions would start again when a znode is deleted and made
// again. One multi is one transaction of package kv. To compare a record, it checks that the child
// exists. To compare a record that must not exist, it creates and deletes the record's znode.
//
// Before each answer a server is told to catch up with its leader (sync). The leader itself does not wait:
// it may answer without a commit that another server has told of, a moment ago, and for longer if it was
// deposed and does not know it. So an answer may be old, but no transaction that rests on it can win.
//
// ZooKeeper answers for one znode at a time. The transaction identifiers (zxid) in the answers show
// whether all are of one moment, see cut in read.go.
//
// Ephemeral nodes are not used: their end depends on a session, which a pause or a slow network
// ends. Leases expire by observation, see package claims.
//
// The version and the zxid of /life count the transactions. A process that reads a smaller count
// than before knows that data were lost, and writes the next incarnation. No process notices a
// backup that was restored while none was running: then run
// `quorate-zookeeper store init --restored`.
package zookeeper

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/config"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/replica"
	"github.com/quorate/quorate/stores/zookeeper/internal/session"
)

// A Store opens the ensemble that the zookeeper section names.
type Store struct{}

// Section implements [replica.Store].
func (s *Store) Section() string { return config.SectionZooKeeper }

// Address implements [replica.Store].
func (s *Store) Address() string { return "" }

// Open implements [replica.Store].
func (s *Store) Open(_ context.Context, cluster config.Cluster) (kv.Server, error) {
	return open(cluster), nil
}

var _ replica.Store = (*Store)(nil)

// limits keep a transaction below ZooKeeper's default request size, jute.maxbuffer = 1 MiB. Beside
// 768 KiB of values, 2 KiB are left for the paths and ACLs of each key.
var limits = kv.Limits{Keys: 120, Bytes: 768 << 10}

// An ensemble is a [kv.Server] on the servers of one ZooKeeper ensemble.
type ensemble struct {
	client       *session.Client
	servers      []string                     // as the configuration has them
	login        func() (config.Login, error) // as it is now
	chroot       string
	root         string       // of all znodes
	acl          []zk.ACL     // of all znodes
	incarnations incarnations // that this process has seen
	hints        hints        // guesses of the versions that are stored
}

var _ kv.Server = (*ensemble)(nil)

// open returns the store of a configuration that was checked.
func open(c config.Cluster) *ensemble {
	z := c.ZooKeeper
	s := &ensemble{
		client: session.New(z.Servers, c.Login), servers: z.Servers, login: c.Login, chroot: z.Chroot,
		root: strings.TrimRight(z.Chroot, "/") + "/quorate/" + escape(c.Namespace), acl: zk.WorldACL(zk.PermAll),
	}
	if z.Username != "" {
		s.acl = zk.AuthACL(zk.PermAll) // of the user who creates the node
	}
	return s
}

// Name implements [kv.Server].
func (s *ensemble) Name() string { return "ZooKeeper " + strings.Join(s.servers, ",") + s.chroot }

// Close implements [kv.Server].
func (s *ensemble) Close() { s.client.Close() }

// Limits implements [kv.Store].
func (s *ensemble) Limits() kv.Limits { return limits }

// do makes a call. If it was refused, the error says what to do.
func do[T any](ctx context.Context, s *ensemble, repeatable bool, call func(context.Context, *zk.Conn) (T, error)) (T, error) {
	v, err := session.Do(ctx, s.client, repeatable, call)
	if session.IsRefusal(err) {
		err = s.refused(err)
	}
	return v, err
}

// refused adds to a refusal of ZooKeeper which user lacks a right, and what to check.
func (s *ensemble) refused(err error) error {
	who := "a client without zookeeper.username"
	if login, err := s.login(); err == nil && login.Username != "" {
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

// Check implements [kv.Server].
func (s *ensemble) Check(ctx context.Context) (kv.Checkup, error) {
	return do(ctx, s, true, func(ctx context.Context, c *zk.Conn) (found kv.Checkup, err error) {
		members, _, err := c.Get("/zookeeper/config")
		if err != nil && !session.IsRefusal(err) {
			return found, err
		}
		if err == nil {
			s.addMembersFinding(string(members), &found)
		}
		found.Version = "ZooKeeper " + s.versionOf(ctx, c.Server())
		return found, nil
	})
}

// addMembersFinding adds a finding if the number of voting servers is a bad one.
func (s *ensemble) addMembersFinding(list string, found *kv.Checkup) {
	voting := len(voter.FindAllString(list, -1))
	var text string
	switch {
	case voting <= 1: // a server alone has no list
		text = "ZooKeeper has one server: no tick runs while it is down, and all is lost with its disk; three survive the loss of one"
	case voting%2 == 0:
		text = fmt.Sprintf("ZooKeeper has %d voting servers, which survive no more losses than %d: add or remove one", voting, voting-1)
	case voting > len(s.servers):
		text = fmt.Sprintf("ZooKeeper has %d servers, and zookeeper.servers lists %d: list all, so that a replica can reach another one", voting, len(s.servers))
	default:
		return
	}
	found.Findings = append(found.Findings, kv.Finding{Topic: "members", Text: text})
}

// What ZooKeeper says of itself.
var (
	voter   = regexp.MustCompile(`(?m)^server\.\d+=.*:participant`)
	version = regexp.MustCompile(`^Zookeeper version: ([0-9.]+)`)
)

// srvrTimeout bounds the connection for srvr, and its answer.
const srvrTimeout = time.Second

const unknown = "of an unknown version"

// versionOf asks a server for its version by the command srvr. It may be forbidden.
func (s *ensemble) versionOf(ctx context.Context, at string) string {
	login, err := s.login()
	if err != nil {
		return unknown
	}
	c, err := session.Dial(ctx, login.TLS, at, srvrTimeout)
	if err != nil {
		return unknown
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(srvrTimeout))
	_, _ = io.WriteString(c, "srvr")
	text, _ := io.ReadAll(c)
	if found := version.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return unknown
}
