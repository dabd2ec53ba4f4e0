package membership_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/client"
	"github.com/quorate/quorate/internal/store/quorum/membership"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	ca := redistest.NewCA(t)
	server := redistest.Start(t, redistest.TLS(ca), redistest.ACL("quorate", "canary", membership.ACLRules("quorate")))
	c := config([]string{server.URL()}, func(c *membership.Config) { c.TLS = ca.Config() })
	s := open(t, c)
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if r := call(t, s, put, "v"); r.Err != nil {
		t.Error(r.Err)
	}
	for name, c := range map[string]membership.Config{
		"unknown certificate": config([]string{server.URL()}),
		"other server name": config([]string{server.URL()}, func(c *membership.Config) {
			c.TLS = ca.Config()
			c.TLS.ServerName = "elsewhere"
		}),
	} {
		if r := call(t, open(t, c), put, "v"); r.Err == nil || !strings.Contains(r.Err.Error(), "certificate") {
			t.Errorf("%s: %v", name, r.Err)
		}
	}
	plain := open(t, config([]string{strings.Replace(server.URL(), "rediss", "redis", 1)}))
	if r := call(t, plain, put, "v"); r.Err == nil {
		t.Error("a client without TLS was answered")
	}
}

func TestCredentialsOfTheConfigAreForURLsWithout(t *testing.T) {
	t.Parallel()
	own := redistest.Start(t, redistest.ACL("own", "first", membership.ACLRules("quorate")), redistest.Conf("user default off"))
	shared := redistest.Start(t, redistest.ACL("shared", "second", membership.ACLRules("quorate")), redistest.Conf("user default off"))
	third := redistest.Start(t, redistest.ACL("shared", "second", membership.ACLRules("quorate")), redistest.Conf("user default off"))
	c := config([]string{own.URL(), "redis://" + shared.Addr(), "redis://" + third.Addr()})
	c.Username, c.Password = "shared", "second"
	if err := open(t, c).Join(t.Context()); err != nil {
		t.Error(err)
	}
	c.Username, c.Password = "nobody", "nothing"
	c.Credentials = func(context.Context) (username, password string, err error) { return "shared", "second", nil }
	if err := open(t, c).Join(t.Context()); err != nil {
		t.Errorf("with credentials of the program: %v", err)
	}
	c.Nodes = c.Nodes[1:2]
	c.Credentials = func(context.Context) (username, password string, err error) {
		return "", "", errors.New("no token today")
	}
	if r := call(t, open(t, c), put, "v"); r.Err == nil {
		t.Error("a node answers without credentials")
	}
}

// Whatever goes wrong, the password is nowhere to be read.
func TestPasswordsNeverShow(t *testing.T) {
	t.Parallel()
	const canary = "cAnAry"
	good := redistest.Start(t, redistest.ACL("quorate", canary, membership.ACLRules("quorate")))
	gone := redistest.Start(t, redistest.ACL("quorate", canary, membership.ACLRules("quorate")))
	wrong := redistest.Start(t, redistest.ACL("quorate", "another", membership.ACLRules("quorate")))
	gone.Kill()
	c := config([]string{good.URL(), gone.URL(), "redis://quorate:" + canary + "@" + wrong.Addr()})
	c.Password = canary
	var seen []string
	note := func(v any) { seen = append(seen, fmt.Sprintf("%v", v)) }
	c.Observer = membership.Observer{
		Down:      func(node string, err error) { note(node); note(err) },
		Formatted: func(node string, _ time.Time) { note(node) },
	}
	s := open(t, c)
	note(s.Join(t.Context()))
	note(s.Init(t.Context(), false))
	note(s.Init(t.Context(), true))
	note(s.Inspect(t.Context()))
	note(s.Call(t.Context(), put, []string{s.Key("x")}, "v"))
	note(s.Names())
	for _, n := range s.Nodes() {
		note(n)
		note(n.URL())
	}
	bad := c
	bad.Nodes = []membership.NodeConfig{{URL: "redis://u:" + canary + "/x@h"}, {URL: "http://u:" + canary + "@h"}, {URL: "redis://u:" + canary + "@h/7"}}
	note(bad.Validate())
	note(bad)
	note(c)
	note(good.Client().Keys(t.Context(), "*").Val())
	note(good.Client().HGetAll(t.Context(), "{quorate}:node").Val())
	for _, text := range seen {
		if strings.Contains(text, canary) {
			t.Errorf("the password shows in: %s", text)
		}
	}
	if len(seen) < 15 || !strings.Contains(strings.Join(seen, "\n"), "***") {
		t.Errorf("too little was looked at: %q", seen)
	}
}

// Errors of a Redis in trouble are distinguished, and none of them puts the node down.
func TestServersInTrouble(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, config([]string{server.URL()}))
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	trouble := func(code, advice string) {
		t.Helper()
		var answer *client.ServerError
		r := call(t, s, put, "v")
		if !errors.As(r.Err, &answer) || answer.Code != code || !strings.Contains(r.Err.Error(), advice) {
			t.Errorf("want %s and %q, got %v", code, advice, r.Err)
		}
	}
	set := func(key, value string) {
		t.Helper()
		if err := server.Client().ConfigSet(t.Context(), key, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
	set("maxmemory", "1")
	trouble("OOM", "maxmemory")
	set("maxmemory", "0")
	set("min-replicas-to-write", "1")
	trouble("NOREPLICAS", "min-replicas-to-write")
	set("min-replicas-to-write", "0")
	if err := server.Client().Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
		t.Fatal(err)
	}
	trouble("READONLY", "only a master grants ticks")
	server.Client().Do(t.Context(), "REPLICAOF", "NO", "ONE")
	if r := call(t, s, put, "v"); r.Err != nil {
		t.Errorf("the node has recovered, but: %v", r.Err)
	}

	m := redistest.MiniN(t, 1)
	s = open(t, config(m.URLs(), embedded(m)))
	if err := s.Init(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	m.Node(0).SetError("LOADING Redis is loading the dataset in memory")
	trouble("LOADING", "when that is done")
}
