package client

import (
	"strings"
	"testing"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, addr, user, password, redacted string }{
		{"redis://Host.Example", "host.example:6379", "", "", "redis://host.example:6379"},
		{"redis://127.0.0.1:7101/0", "127.0.0.1:7101", "", "", "redis://127.0.0.1:7101"},
		{"rediss://u:p%40ss@h:1", "h:1", "u", "p@ss", "rediss://u:***@h:1"},
		{"redis://:canary@h:1", "h:1", "", "canary", "redis://:***@h:1"},
		{"redis://canary@h:1", "h:1", "canary", "", "redis://***@h:1"},
		{"valkey://Host.Example", "host.example:6379", "", "", "valkey://host.example:6379"},
		{"valkeys://u:canary@h:1", "h:1", "u", "canary", "valkeys://u:***@h:1"},
		{"redis://[::1]:7101", "[::1]:7101", "", "", "redis://[::1]:7101"},
	} {
		u, err := ParseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if u.Addr != c.addr || u.username != c.user || u.password != c.password || u.Redacted != c.redacted {
			t.Errorf("%s: got %+v", c.url, u)
		}
	}
}

// Sentinels and servers listen on other ports.
func TestAddressesHaveThePortOfTheirKind(t *testing.T) {
	t.Parallel()
	watched, err := SentinelURL("orders", []string{"redis://u:canary@a", "redis://u:canary@b:1"})
	if want := "master orders of a:26379, b:1"; err != nil || watched.Redacted != want {
		t.Errorf("got %q, %v; want %q", watched.Redacted, err, want)
	}
	sharded, err := ClusterURL([]string{"redis://u:canary@a"})
	if want := "cluster of a:6379"; err != nil || sharded.Redacted != want {
		t.Errorf("got %q, %v; want %q", sharded.Redacted, err, want)
	}
}

func TestBadURLsAreRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ url, want string }{
		{"redis://u:can/ary@h:1", "cannot be parsed"}, // net/url would quote it
		{"redis://u:can%ary@h:1", "cannot be parsed"},
		{"http://u:canary@h:1", "must start with redis://"},
		{"u:canary@h:1", "must start with redis://"},
		{"redis://u:canary@", "names no host"},
		{"redis://u:canary@h:1/3", "names a database"},
		{"redis://u:canary@h:1?password=canary", "has parameters"},
		{"redis://can/ary@h:1", "percent-encoded"}, // the host is "can" now
		{"redis://can?ary@h:1", "percent-encoded"},
		{"redis://can#ary@h:1", "percent-encoded"},
		{"", "must start with redis://"},
		{"127.0.0.1:6379", "without a scheme: write redis://127.0.0.1:6379"},
		{"localhost:6379", "without a scheme: write redis://localhost:6379"},
		{"10.0.0.1", "without a scheme: write redis://10.0.0.1"},
		{"[::1]:6379", "without a scheme: write redis://[::1]:6379"},
		{"u:canary@10.0.0.1:6379", "must start with redis://"},
		{"canary@10.0.0.1:6379", "must start with redis://"},
	} {
		_, err := ParseURL(c.url)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.url, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "can") && !strings.Contains(err.Error(), "cannot") || strings.Contains(err.Error(), "ary") {
			t.Errorf("%s: the error shows the password: %v", c.url, err)
		}
	}
}
