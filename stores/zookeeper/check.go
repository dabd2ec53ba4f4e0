package zookeeper

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/stores/zookeeper/internal/session"
)

// Check implements [kv.Server].
func (s *server) Check(ctx context.Context) (kv.Checkup, error) {
	return do(ctx, s, true, func(ctx context.Context, c *zk.Conn) (found kv.Checkup, err error) {
		members, _, err := c.Get("/zookeeper/config")
		if err != nil && !session.IsRefusal(err) {
			return found, err
		}
		if err == nil {
			s.countMembers(string(members), &found)
		}
		found.Version = "ZooKeeper " + s.versionOf(ctx, c.Server())
		return found, nil
	})
}

func (s *server) countMembers(list string, found *kv.Checkup) {
	voting := len(voter.FindAllString(list, -1))
	var text string
	switch {
	case voting <= 1: // a server alone has no list
		text = "ZooKeeper has one server: no tick runs while it is down, and all is lost with its disk; three survive the loss of one"
	case voting%2 == 0:
		text = fmt.Sprintf("ZooKeeper has %d voting servers, which survive no more losses than %d: add or remove one", voting, voting-1)
	case voting > len(s.Servers):
		text = fmt.Sprintf("ZooKeeper has %d servers, and zookeeper.servers lists %d: list all, so that a replica can reach another one", voting, len(s.Servers))
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

// patience is for the answer to srvr.
const patience = time.Second

const unknown = "of an unknown version"

// versionOf asks a server for its version by the command srvr. It may be forbidden.
func (s *server) versionOf(ctx context.Context, at string) string {
	login, err := s.Login()
	if err != nil {
		return unknown
	}
	c, err := session.Dial(ctx, login.TLS, at, patience)
	if err != nil {
		return unknown
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(patience))
	_, _ = io.WriteString(c, "srvr")
	text, _ := io.ReadAll(c)
	if found := version.FindSubmatch(text); found != nil {
		return string(found[1])
	}
	return unknown
}
