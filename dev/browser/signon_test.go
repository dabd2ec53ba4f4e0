package browser_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// testSignOn opens a page through a proxy for single sign-on, which then logs the user out. The page says so, and
// has live updates again after the next login in another tab.
func testSignOn(t *testing.T, browser *chromium, home string) {
	at, err := url.Parse(home)
	if err != nil {
		t.Fatal(err)
	}
	provider := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(provider.Close)
	var out atomic.Bool
	var refusedOnce sync.Once
	refused := make(chan struct{}) // closed after the proxy has refused a stream; the browser does not ask again
	replica := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: at.Scheme, Host: at.Host})
		r.Out.SetBasicAuth("viewer", password)
	}}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !out.Load():
			replica.ServeHTTP(w, r)
		case strings.Contains(r.URL.Path, "/api/"):
			w.WriteHeader(http.StatusUnauthorized)
			refusedOnce.Do(func() { close(refused) })
		default:
			http.Redirect(w, r, provider.URL, http.StatusFound)
		}
	}))
	t.Cleanup(proxy.Close)

	const live = `document.querySelector("footer button").textContent === "Updates: live"`
	b := newTab(t, browser, proxy.URL+at.Path)
	b.open("/jobs")
	b.wait("updates", live)
	out.Store(true)
	proxy.CloseClientConnections()
	b.wait("that the user is logged out", says("You are logged out at the proxy. Load the page again to log in."))
	select {
	case <-refused:
	case <-time.After(patience):
		t.Fatal("the page does not ask for events again")
	}
	out.Store(false)
	b.wait("updates after the next login", `!document.getElementById("away") && `+live)
}
