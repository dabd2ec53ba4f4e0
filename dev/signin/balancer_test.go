//go:build signin

package signin_test

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// balancerAddress is where the balancer's requests come from.
const balancerAddress = "127.0.0.4"

// testBalancer puts a balancer with HTTP/2 and TLS before a proxy and a replica of their own.
func testBalancer(t *testing.T) {
	s := newSite(t, "addresses: [127.0.0.1]", "addresses: [127.0.0.1, "+balancerAddress+"]")
	address := trusted + ":" + servertest.FreePort(t)
	s.startProxy(address, s.proxyConfig(
		`https_address = "0.0.0.0:443"`, "", `tls_cert_file = "/etc/oauth2-proxy/cert.pem"`, "", `tls_key_file = "/etc/oauth2-proxy/key.pem"`, "",
	)+s.page.block(t, "toml", 2, "10.0.0.7:4180", address))
	balancer := s.balancer(address)

	ann := s.browser(balancer)
	s.logIn(ann, "ann@example.com").wants(t, http.StatusOK, "ann@example.com, operator")
	got := s.submit(ann, pausePath, "by the balancer", "X-Forwarded-For", "10.1.2.3")
	if got.wants(t, http.StatusOK, "ann@example.com, operator"); got.protocol != "HTTP/2.0" {
		t.Errorf("the balancer speaks %s", got.protocol)
	}
	s.audited("ann@example.com@"+browserAddress, "by the balancer", "")
	events := s.events(ann)
	s.submit(ann, pausePath, "to see an event")
	events.next("event: act")
	s.do(s.client(elsewhere), http.MethodGet, "http://"+s.quorate+"/", "", "X-Forwarded-Email", "ann@example.com").wants(t, http.StatusUnauthorized, "")
}

// balancer starts a balancer before the proxy, and returns its address.
func (s *site) balancer(proxy string) string {
	s.t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem"))
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: proxy})
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		},
		Transport: s.client(balancerAddress).Transport,
		ErrorLog:  log.New(io.Discard, "", 0), // the test ends streams of events
	})
	server.EnableHTTP2, server.TLS = true, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	s.t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}
