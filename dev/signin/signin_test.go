//go:build signin

package signin_test

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"

	"github.com/quorate/quorate/dev/testkit/servertest"
)

// TestPage holds docs/oauth2-proxy.md to what oauth2-proxy and a replica do with the configurations on it.
func TestPage(t *testing.T) {
	s := newSite(t)
	_, version, _ := strings.Cut(filepath.Base(program(t, "OAUTH2_PROXY")), "oauth2-proxy-")
	if !strings.Contains(s.page.text, "oauth2-proxy "+version+" ") {
		t.Errorf("%s names another version than %s, which the Makefile has", pagePath, version)
	}
	// A proxy that collected what it passes on would keep an event for an hour.
	proxy := s.newProxy("flush_interval = \"1h\"\n")

	t.Run("users of the provider have roles of Quorate", s.on(proxy, testRoles))
	t.Run("headers of a browser name no user", s.on(proxy, testForged))
	t.Run("pages of other origins cannot act", s.on(proxy, testOrigins))
	t.Run("the header counts from the address of the proxy alone", s.on(proxy, testStraight))
	t.Run("events come at once", s.on(proxy, testEvents))
	t.Run("without a login the proxy answers", s.on(proxy, testWithoutLogin))
	t.Run("logging out", s.on(proxy, testSignOut))
	t.Run("the provider refuses to renew a login", func(t *testing.T) { testRevoked(s.in(t)) })
	t.Run("programs may use the proxy", func(t *testing.T) {
		s := s.in(t)
		testPrograms(s, s.newProxy(s.page.block(t, "toml", 1)))
	})
	t.Run("behind a load balancer", testBalancer)
}

// in returns the site for a subtest.
func (s *site) in(t *testing.T) *site {
	t.Helper()
	own := *s
	own.t = t
	return &own
}

func (s *site) on(proxy string, test func(*site, string)) func(*testing.T) {
	return func(t *testing.T) { test(s.in(t), proxy) }
}

const pausePath = "/jobs/nightly-report/pause"

func testRoles(s *site, proxy string) {
	ann, bob := s.browser(proxy), s.browser(proxy)
	s.logIn(ann, "ann@example.com").wants(s.t, http.StatusOK, "ann@example.com, operator")
	s.submit(ann, pausePath, "closing the books").wants(s.t, http.StatusOK, "ann@example.com, operator")
	s.audited("ann@example.com@"+browserAddress, "closing the books", "")

	s.logIn(bob, "bob@example.com").wants(s.t, http.StatusOK, "bob@example.com, viewer")
	s.submit(bob, pausePath, "curious").wants(s.t, http.StatusForbidden, "needs the role operator")
	s.audited("bob@example.com@"+browserAddress, "curious", "refused")

	s.logIn(s.browser(proxy), "Ann@example.com").wants(s.t, http.StatusForbidden, "Ann@example.com has no role here")
	s.logIn(s.browser(proxy), "carol@example.com").wants(s.t, http.StatusForbidden, "carol@example.com has no role here")
	mallory := s.browser(proxy)
	s.logIn(mallory, "mallory@elsewhere.example").wants(s.t, http.StatusForbidden, "You do not have permission to access this resource.")
	s.wantsLogin(mallory, http.MethodGet, "/")
}

// testForged sends as a viewer headers that name another user, another address and a token.
func testForged(s *site, proxy string) {
	forged := []string{"X-Forwarded-For", "10.1.2.3", "Authorization", "Bearer " + s.token}
	for _, header := range []string{"X-Forwarded-Email", "X_Forwarded_Email", "X-Forwarded-User", "X-Forwarded-Preferred-Username"} {
		forged = append(forged, header, "ann@example.com")
	}
	bob := s.browser(proxy)
	s.wantsLogin(bob, http.MethodGet, "/", forged...)
	s.logIn(bob, "bob@example.com")
	s.do(bob, http.MethodGet, home+"/", "", forged...).wants(s.t, http.StatusOK, "bob@example.com, viewer")
	s.submit(bob, pausePath, "as ann", forged...).wants(s.t, http.StatusForbidden, "bob@example.com has role viewer")
	s.audited("bob@example.com@"+browserAddress, "as ann", "refused")
}

func testOrigins(s *site, proxy string) {
	ann := s.browser(proxy)
	s.logIn(ann, "ann@example.com")
	s.submit(ann, pausePath, "an old browser", "Sec-Fetch-Site", "").wants(s.t, http.StatusOK, "ann@example.com")
	s.audited("ann@example.com@"+browserAddress, "an old browser", "")
	const refused = "the request comes from a page of another origin"
	s.submit(ann, pausePath, "forged", "Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example").wants(s.t, http.StatusForbidden, refused)
	s.submit(ann, pausePath, "forged", "Sec-Fetch-Site", "", "Origin", "https://elsewhere.example").wants(s.t, http.StatusForbidden, refused)
}

// testStraight sends requests to the replica, past the proxy.
func testStraight(s *site, _ string) {
	address, asAnn, asDeploy := "http://"+s.quorate, []string{"X-Forwarded-Email", "ann@example.com"}, []string{"Authorization", "Bearer " + s.token}
	outside, local := s.client(elsewhere), s.client(trusted)
	s.do(outside, http.MethodGet, address+"/", "", asAnn...).wants(s.t, http.StatusUnauthorized, "")
	s.do(local, http.MethodGet, address+"/", "").wants(s.t, http.StatusUnauthorized, "")
	s.do(local, http.MethodGet, address+"/", "", asAnn...).wants(s.t, http.StatusOK, "ann@example.com, operator")

	s.do(outside, http.MethodGet, address+"/api/v1/jobs", "", asDeploy...).wants(s.t, http.StatusOK, "nightly-report")
	s.command(outside, address, "a release", append(asAnn, asDeploy...)...).wants(s.t, http.StatusOK, "")
	s.audited("deploy@"+elsewhere, "a release", "")
	jobs := exec.CommandContext(s.t.Context(), program(s.t, "QUORATE"), "jobs", "--server", address)
	jobs.Env = append(jobs.Environ(), "QUORATE_TOKEN="+s.token)
	if out, err := jobs.CombinedOutput(); err != nil || !strings.Contains(string(out), "nightly-report") {
		s.t.Errorf("quorate jobs = %v: %s", err, out)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		s.do(outside, http.MethodGet, "http://"+s.probes+path, "").wants(s.t, http.StatusOK, "")
	}
}

func testEvents(s *site, proxy string) {
	ann := s.browser(proxy)
	s.logIn(ann, "ann@example.com")
	events := s.events(ann)
	s.submit(ann, pausePath, "to see an event")
	events.next("event: act")
}

func testWithoutLogin(s *site, proxy string) {
	stranger := s.browser(proxy)
	for _, path := range []string{"/", "/jobs", "/healthz", "/readyz", "/metrics"} {
		s.wantsLogin(stranger, http.MethodGet, path)
	}
	s.wantsLogin(stranger, http.MethodPost, pausePath)
	if to := s.redirected(stranger, http.MethodGet, "/"); !strings.Contains(to, "code_challenge_method=S256") || !strings.Contains(to, "nonce=") {
		s.t.Errorf("a login begins at %s, without a code challenge or a nonce", to)
	}
	s.do(stranger, http.MethodGet, home+"/ping", "").wants(s.t, http.StatusOK, "OK")
	for _, header := range [][]string{nil, {"Authorization", "Bearer " + s.token}} {
		got := s.do(stranger, http.MethodGet, home+"/api/v1/jobs", "", header...)
		if got.wants(s.t, http.StatusUnauthorized, ""); got.body != "{}" || got.protocol != "HTTP/1.1" {
			s.t.Errorf("the proxy answers %q with %s", got.body, got.protocol)
		}
	}
}

func testSignOut(s *site, proxy string) {
	ann, copied := s.browser(proxy), s.browser(proxy)
	s.logIn(ann, "ann@example.com")
	copied.Jar.SetCookies(homeURL, ann.Jar.Cookies(homeURL))
	events := s.events(ann)
	s.redirected(ann, http.MethodGet, "/oauth2/sign_out")
	s.wantsLogin(ann, http.MethodGet, "/")
	s.wantsLogin(ann, http.MethodPost, pausePath)

	// Limits that the page names.
	s.do(copied, http.MethodGet, home+"/", "").wants(s.t, http.StatusOK, "ann@example.com, operator")
	s.command(s.client(elsewhere), "http://"+s.quorate, "after logging out", "Authorization", "Bearer "+s.token)
	events.next("event: act")
}

// testRevoked lets the provider refuse to renew a login.
func testRevoked(s *site) {
	address := trusted + ":" + servertest.FreePort(s.t)
	s.startProxy(address, s.proxyConfig("0.0.0.0:443", address, `cookie_refresh = "1h"`, `cookie_refresh = "1s"`))
	ann := s.browser(address)
	s.logIn(ann, "ann@example.com").wants(s.t, http.StatusOK, "ann@example.com, operator")
	for range 2 { // the proxy tries two ways to send its secret
		s.provider.QueueError(&mockoidc.ServerError{Code: http.StatusBadRequest, Error: mockoidc.InvalidGrant})
	}
	again, giveUp := time.NewTicker(100*time.Millisecond), time.After(patience)
	defer again.Stop()
	for s.redirected(ann, http.MethodGet, "/") == "" {
		select {
		case <-again.C:
		case <-giveUp:
			s.t.Fatal("the login continues")
		}
	}
	s.wantsLogin(ann, http.MethodGet, "/")
}

// testPrograms lets requests for the API through without a login.
func testPrograms(s *site, proxy string) {
	program, ann := s.browser(proxy), s.browser(proxy)
	s.command(program, home, "by a program", "Authorization", "Bearer "+s.token).wants(s.t, http.StatusOK, "")
	s.audited("deploy@"+browserAddress, "by a program", "")
	const refused = "this needs the role operator"
	s.command(program, home, "by nobody").wants(s.t, http.StatusUnauthorized, refused)
	s.command(program, home, "as ann", "X-Forwarded-Email", "ann@example.com").wants(s.t, http.StatusUnauthorized, refused)
	s.wantsLogin(program, http.MethodGet, "/")

	s.logIn(ann, "ann@example.com")
	s.command(ann, home, "by ann").wants(s.t, http.StatusOK, "")
	s.audited("ann@example.com@"+browserAddress, "by ann", "")
	s.events(ann)
}
