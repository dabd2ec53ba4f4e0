//go:build signin

package signin_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/dev/testkit/servertest"
	"github.com/quorate/quorate/internal/console/gate"
)

// home is the address of the dashboard on the page.
const home = "https://cron.example.com"

// Where requests come from. The page trusts trusted.
const (
	trusted        = "127.0.0.1"
	elsewhere      = "127.0.0.2"
	browserAddress = "127.0.0.3" // browsers
)

// A site is a replica and a provider, for proxies.
type site struct {
	t        *testing.T
	page     page
	dir      string
	quorate  string // host:port of http.listen
	probes   string // of http.probes_listen
	provider *mockoidc.MockOIDC
	token    string // of the user deploy
	tls      *tls.Config
}

// newSite starts a replica with the configuration of the page, with other texts in place of some.
func newSite(t *testing.T, pairs ...string) *site {
	t.Helper()
	s := &site{
		t: t, page: readPage(t), dir: t.TempDir(), provider: startProvider(t),
		quorate: trusted + ":" + servertest.FreePort(t), probes: trusted + ":" + servertest.FreePort(t),
	}
	certificate := redistest.NewCA(t)
	certificate.Write(t, s.dir)
	s.tls = certificate.Config()
	s.tls.ServerName = trusted // the certificate is for this address

	var stored string
	s.token, stored = gate.NewToken()
	s.write("deploy", stored)
	s.write("client-secret", s.provider.ClientSecret)
	s.write("cookie-secret", strings.Repeat("c", 32))
	config := s.write("config.yaml", s.page.block(t, "yaml", 0, append(pairs,
		"127.0.0.1:8080", s.quorate, "127.0.0.1:8081", s.probes, "/etc/quorate/", s.dir+"/")...)+`
redis: {nodes: ["`+redistest.Start(t).URL()+`"], node_timeout: 1s}
jobs:
  nightly-report: {func: exec, schedule: "0 3 * * *", params: {command: [report]}}
`)
	binary := program(t, "QUORATE")
	if out, err := exec.CommandContext(t.Context(), binary, "store", "init", "-c", config).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	start(t, s.quorate, binary, "run", "-c", config)
	return s
}

// startProvider starts a provider for the client of the page.
func startProvider(t *testing.T) *mockoidc.MockOIDC {
	t.Helper()
	provider, err := mockoidc.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	provider.ClientID = "quorate"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := provider.Start(listener, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { provider.Shutdown() })
	return provider
}

// write writes a file, and returns its path.
func (s *site) write(name, text string) string {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return path
}

// newProxy starts oauth2-proxy with the configuration of the page and more lines, and returns its address.
func (s *site) newProxy(more string) string {
	s.t.Helper()
	address := trusted + ":" + servertest.FreePort(s.t)
	s.startProxy(address, s.proxyConfig("0.0.0.0:443", address)+more)
	return address
}

// proxyConfig returns the configuration of oauth2-proxy on the page with other texts in place of some.
func (s *site) proxyConfig(pairs ...string) string {
	s.t.Helper()
	return s.page.block(s.t, "toml", 0, append(pairs, "https://login.example.com", s.provider.Issuer(),
		"/etc/oauth2-proxy/", s.dir+"/", "127.0.0.1:8080", s.quorate)...)
}

func (s *site) startProxy(address, config string) {
	s.t.Helper()
	start(s.t, address, program(s.t, "OAUTH2_PROXY"), "--config", s.write(address+".cfg", config))
}

// browser returns a client with cookies at an address, for which home is at a proxy.
func (s *site) browser(proxy string) *http.Client {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	client := s.client(browserAddress)
	client.Jar = jar
	transport := client.Transport.(*http.Transport)
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == "cron.example.com:443" {
			address = proxy
		}
		return dial(ctx, network, address)
	}
	return client
}

// client returns a client at an address.
func (s *site) client(from string) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	transport := &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: s.tls, ForceAttemptHTTP2: true}
	s.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}
