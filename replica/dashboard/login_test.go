package dashboard_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
)

// Users come and go: who was removed is refused at once, also with a password that
// was right lately, and while following the events.
func TestUsersAreReplaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	all := stored()
	const path = "/api/v1/jobs"
	for _, who := range []secret{typed, viewer} {
		if a := r.ask(who, "GET", path, ""); a.status != http.StatusOK {
			t.Fatalf("%s: %d", who.name, a.status)
		}
	}
	server := httptest.NewServer(r.Handler)
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/api/v1/events", nil)
	r.must(err)
	req.Header.Set("Authorization", "Bearer "+viewer.token)
	resp, err := server.Client().Do(req)
	r.must(err)
	defer func() { _ = resp.Body.Close() }()

	wrong := map[string]settings.User{admin.name: all[admin.name], "x": {Role: "king"}}
	if err := r.SetUsers(wrong); err == nil {
		t.Error("a user without a proper role is taken")
	}
	if a := r.ask(viewer, "GET", path, ""); a.status != http.StatusOK {
		t.Errorf("after users that are not valid: %d", a.status)
	}
	r.must(r.SetUsers(map[string]settings.User{admin.name: all[admin.name]}))
	for _, who := range []secret{typed, operator, viewer} {
		if a := r.ask(who, "GET", path, ""); a.status != http.StatusUnauthorized {
			t.Errorf("%s, who was removed: %d", who.name, a.status)
		}
	}
	if a := r.ask(admin, "GET", path, ""); a.status != http.StatusOK {
		t.Errorf("root: %d", a.status)
	}
	if _, err := io.Copy(io.Discard, resp.Body); ctx.Err() != nil {
		t.Errorf("who was removed follows the events: %v", err)
	}
}

// A login asks for name and password, goes back to the page one came from, and
// nowhere else.
func TestLogin(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"", "/admin/cron"} {
		r := newRig(t, func(c *setup) { c.BasePath, c.Anonymous = base, identity.AnonymousAll })
		if a := r.ask(nobody, "GET", base+"/login?back="+url.QueryEscape(base+"/jobs"), ""); a.status != http.StatusUnauthorized || !strings.Contains(string(a.body), "<h1>") || a.header.Get("WWW-Authenticate") == "" {
			t.Errorf("nobody: %d %v", a.status, a.header)
		}
		for back, want := range map[string]string{
			"": "/", base + "/jobs?q=a&tz=utc": "/jobs?q=a&tz=utc", base + "/ticks?since=//x": "/ticks?since=//x",
			"//evil.example/": "/", "https://evil.example/": "/", "/\\evil.example": "/", base + "//evil.example": "/", "\t//evil.example": "/",
			base + "/\t/evil.example": "/", base + "/../..//evil.example": "/", base + "/x/../../../y": "/", "javascript:alert(1)": "/", base + "/%0a/x\n": "/",
		} {
			a := r.ask(viewer, "GET", base+"/login?back="+url.QueryEscape(back), "")
			if got := a.header.Get("Location"); a.status != http.StatusSeeOther || got != base+want {
				t.Errorf("back to %q: %d %q", back, a.status, got)
			}
		}
		text := string(r.ask(nobody, "GET", base+"/jobs?q=rep", "").body)
		if link := base + "/login?back=" + url.QueryEscape(base+"/jobs?q=rep"); !strings.Contains(text, link) {
			t.Errorf("no link to %s: %s", link, text)
		}
	}
}
