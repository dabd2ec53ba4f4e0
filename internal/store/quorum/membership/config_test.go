package membership_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store/quorum/membership"
)

func urls(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("redis://127.0.0.1:%d", 7101+i))
	}
	return out
}

func TestDefaultsAreValid(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5, 7} {
		c := config(urls(n))
		c.Timeout = 0
		d := c.WithDefaults()
		if err := d.Validate(); err != nil {
			t.Errorf("%d nodes: %v", n, err)
		}
		if d.Nodes[0].Name != "127.0.0.1:7101" || c.Nodes[0].Name != "" {
			t.Errorf("default name %q; the original now says %q", d.Nodes[0].Name, c.Nodes[0].Name)
		}
		s := open(t, d)
		if s.Len() != n || s.Quorum() != n/2+1 || s.Timeout() != membership.DefaultTimeout || len(s.Names()) != n {
			t.Errorf("%d nodes: quorum %d, timeout %v, names %v", s.Len(), s.Quorum(), s.Timeout(), s.Names())
		}
	}
}

func TestValidateReportsEverything(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		n      int
		change func(*membership.Config)
		want   string
	}{
		{"no nodes", 0, nil, "0 nodes: list 1, 3, 5 or 7"},
		{"even", 4, nil, "4 nodes: list 1, 3, 5 or 7"},
		{"ttl as the grace", 3, func(c *membership.Config) { c.TTL = 20 * time.Second }, "must be below the restart grace"},
		{"slow timeout", 3, func(c *membership.Config) { c.Timeout = 3750 * time.Millisecond }, "below a quarter of the ttl, 3.75s"},
		{"negative timeout", 3, func(c *membership.Config) { c.Timeout = -1 }, "must be positive"},
		{"ttl below 1 ms", 3, func(c *membership.Config) { c.TTL = time.Microsecond }, "whole number of milliseconds"},
		{"bad namespace", 3, func(c *membership.Config) { c.Namespace = "a b" }, `"a b" is not a namespace`},
		{"braces in the namespace", 3, func(c *membership.Config) { c.Namespace = "a{b}" }, `"a{b}" is not a namespace`},
		{"same address", 3, func(c *membership.Config) { c.Nodes[2].URL = "redis://127.0.0.1:7101" }, "nodes 1 and 3 have the same address 127.0.0.1:7101"},
		{"same address in two spellings", 3, func(c *membership.Config) {
			c.Nodes[0].URL, c.Nodes[1] = "redis://HOST", membership.NodeConfig{Name: "b", URL: "rediss://u:p@host:6379"}
		}, "nodes 1 and 2 have the same address host:6379"},
		{"same name", 3, func(c *membership.Config) { c.Nodes[0].Name, c.Nodes[1].Name = "a", "A" }, `nodes 1 and 2 have the same name "A"`},
		{"bad name", 3, func(c *membership.Config) { c.Nodes[0].Name = "a b" }, `name "a b"`},
		{"bad url", 3, func(c *membership.Config) { c.Nodes[1].URL = "http://localhost:1" }, "node 2: its URL must start with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(urls(c.n))
			if c.change != nil {
				c.change(&cfg)
			}
			if _, err := membership.Open(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestValidateJoinsItsErrors(t *testing.T) {
	t.Parallel()
	err := membership.Config{Namespace: "!", TTL: time.Hour, Grace: time.Second, Timeout: time.Hour, Nodes: make([]membership.NodeConfig, 2)}.Validate()
	if n := strings.Count(err.Error(), "\n") + 1; n != 6 {
		t.Errorf("got %d errors, want 6:\n%v", n, err)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	c := config(urls(1))
	c.Namespace = "shop"
	s := open(t, c)
	if k := s.Key("dead", "v"); k != "{shop}:dead:v" {
		t.Error(k)
	}
	if k := s.JobKey("nightly", "lock"); k != "{shop}:job:nightly:lock" {
		t.Error(k)
	}
}
