package gate

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// Each client of a trusted proxy has its own address, in all spellings that proxies use. What is none
// counts as the proxy that wrote it, and is logged once.
func TestAddressOfAClient(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	g := New(Config{
		Proxy:  Proxy{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:a::/48")}},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	of := func(peer string, lines ...string) string {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		for _, line := range lines {
			r.Header.Add("X-Forwarded-For", line)
		}
		return g.Address(r)
	}
	const proxy = "10.0.0.7:99"
	for _, tc := range []struct {
		want, peer string
		lines      []string
	}{
		{"192.0.2.1", proxy, []string{"192.0.2.1"}},
		{"192.0.2.1", proxy, []string{"192.0.2.1:567"}},
		{"192.0.2.1", proxy, []string{" \t192.0.2.1:567 "}},
		{"2001:db8::1", proxy, []string{"2001:db8::1"}},
		{"2001:db8::1", proxy, []string{"[2001:db8::1]"}},
		{"2001:db8::1", proxy, []string{"[2001:db8::1]:567"}},
		{"2001:db8::1", proxy, []string{"[2001:DB8:0::1%eth0]:567"}},
		{"192.0.2.1", proxy, []string{"::ffff:192.0.2.1"}},
		{"192.0.2.1", proxy, []string{"[::ffff:192.0.2.1]:567"}},
		{"192.0.2.1", proxy, []string{"[::ffff:c000:201]"}},
		{"192.0.2.1", proxy, []string{`"192.0.2.1:567"`}},
		{"192.0.2.1", proxy, []string{"198.51.100.9, 192.0.2.1:1, 10.0.0.9:2, [2001:db8:a::1]:3"}},
		{"192.0.2.1", proxy, []string{"198.51.100.9", "192.0.2.1:1", "10.0.0.9"}},
		{"192.0.2.1", proxy, []string{"192.0.2.1:1,", "", " , "}},
		{"10.0.0.9", proxy, []string{"10.0.0.9:1"}},
		{"192.0.2.1", "[::ffff:10.0.0.7]:99", []string{"192.0.2.1:5"}},
		{"192.0.2.1", "[2001:db8:a::7]:99", []string{"192.0.2.1:5"}},
		{"198.51.100.1", "198.51.100.1:99", []string{"192.0.2.1"}}, // no proxy of ours
		{"192.0.2.1", proxy, []string{strings.Repeat("evil, 10.0.0.1,", 7000) + "192.0.2.1:80"}},
		{"192.0.2.1", proxy, []string{strings.Repeat("x", 100_000), "192.0.2.1:80"}},
	} {
		if got := of(tc.peer, tc.lines...); got != tc.want {
			t.Errorf("%.60q from %s: %s, want %s", tc.lines, tc.peer, got, tc.want)
		}
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", log.String())
	}
	for _, tc := range []struct{ want, value string }{
		{"10.0.0.7", "unknown"},
		{"10.0.0.7", "_hidden, 192.0.2.1:"},
		{"10.0.0.9", "192.0.2.1:99999, 10.0.0.9:1"},
		{"10.0.0.7", "[192.0.2.1"},
		{"10.0.0.7", "192.0.2.1 192.0.2.2"},
		{"10.0.0.7", "0x7f000001"},
		{"10.0.0.7", strings.Repeat("x", 100_000)},
	} {
		if got := of(proxy, tc.value); got != tc.want {
			t.Errorf("%.60q: %s, want %s", tc.value, got, tc.want)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "unknown") || !strings.Contains(log.String(), "10.0.0.7") {
		t.Errorf("logged: %.500s", log.String())
	}
}
