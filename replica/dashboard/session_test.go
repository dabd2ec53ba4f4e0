package dashboard_test

import (
	"bytes"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/replica/settings"
)

const sessionKey = "0123456789abcdef0123456789abcdef"

func withSessions(c *setup) { c.SessionKey = sessionKey }

// logsIn sends the form of a login, and returns the answer with the cookie that it sets.
func (r *rig) logsIn(who secret, back string, more ...func(*http.Request)) (answer, *http.Cookie) {
	r.Helper()
	form := url.Values{"name": {who.name}, "password": {who.password + who.token}, "back": {back}}
	a := r.ask(nobody, "POST", "/login", form.Encode(), append(more, func(req *http.Request) { req.Header.Set("Content-Type", "application/x-www-form-urlencoded") })...)
	return a, cookieOf(a)
}

// cookieOf is the session that an answer sets; nil for none.
func cookieOf(a answer) *http.Cookie {
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		if c.Name == "quorate_session" {
			return c
		}
	}
	return nil
}

// with sends a cookie.
func with(c *http.Cookie) func(*http.Request) {
	return func(req *http.Request) { req.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value}) }
}

// The log says who logs in from where, and nothing secret.
func TestLoginIsLogged(t *testing.T) {
	t.Parallel()
	log := new(bytes.Buffer)
	r := newRig(t, withSessions, func(c *setup) { c.Config.Logger = slog.New(slog.NewTextHandler(log, nil)) })
	_, c := r.logsIn(typed, "/")
	r.ask(nobody, "GET", "/", "", with(c))
	text := log.String()
	if strings.Count(text, `msg="a session begins" user=ann address=192.0.2.1`) != 1 || strings.Contains(text, typed.password) || strings.Contains(text, c.Value) {
		t.Errorf("the log: %s", text)
	}
}

// A form logs in; its cookie stands for the user until they are removed or have another secret, on every replica with
// the key, and for nobody if a letter of it is changed.
func TestSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, withSessions)
	a := r.ask(nobody, "GET", "/jobs", "")
	if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") != "" || !strings.Contains(string(a.body), "/login?back=%2Fjobs") {
		t.Errorf("without a session: %d %v %s", a.status, a.header, a.body)
	}
	if a := r.ask(nobody, "GET", "/login?back=%2Fjobs", ""); a.status != http.StatusOK || !strings.Contains(string(a.body), `name="back" value="/jobs"`) {
		t.Errorf("the form: %d %s", a.status, a.body)
	}
	for _, wrong := range []secret{{name: "ann", password: "a wrong password"}, {name: "nobody", password: "a long enough password"}, {name: "ann", token: "qt_viewer"}, {}} {
		if a, c := r.logsIn(wrong, ""); a.status != http.StatusUnauthorized || c != nil || a.header.Get("WWW-Authenticate") != "" || !strings.Contains(string(a.body), "is wrong") {
			t.Errorf("%+v: %d %v %v", wrong, a.status, c, a.header)
		}
	}
	ended := &http.Cookie{Name: "quorate_session", Value: "x"}
	for basic, more := range map[bool][]func(*http.Request){true: nil, false: {with(ended)}} {
		a := r.ask(nobody, "GET", "/api/v1/events", "", more...)
		if asks := strings.Contains(strings.Join(a.header.Values("WWW-Authenticate"), " "), "Basic"); a.status != http.StatusUnauthorized || asks != basic {
			t.Errorf("events without a valid session: %d %v; by a dialog of the browser: want %v", a.status, a.header, basic)
		}
	}
	a, c := r.logsIn(typed, "/jobs?q=x")
	if a.status != http.StatusSeeOther || a.header.Get("Location") != "/jobs?q=x" || c == nil || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Secure || c.MaxAge != 0 {
		t.Fatalf("a login: %d %v, %+v", a.status, a.header, c)
	}
	if a, _ := r.logsIn(typed, "//evil.example/"); a.header.Get("Location") != "/" {
		t.Errorf("it leads to %q", a.header.Get("Location"))
	}
	if a := r.ask(nobody, "GET", "/", "", with(c)); a.status != http.StatusOK || !strings.Contains(string(a.body), "ann, operator") || !strings.Contains(string(a.body), "Log out") {
		t.Errorf("the start page: %d %s", a.status, a.body)
	}
	const trigger, reason = "/api/v1/jobs/report/trigger", `{"reason": "so"}`
	if a := r.ask(nobody, "POST", trigger, reason, with(c)); a.status != http.StatusOK {
		t.Errorf("a command: %d %s", a.status, a.body)
	}
	if a := r.ask(nobody, "POST", trigger, reason, with(c), from("192.0.2.1:1", "quorate.example", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")); a.status != http.StatusForbidden {
		t.Errorf("a command from a page of another origin: %d", a.status)
	}
	if a, c := r.logsIn(typed, "", from("192.0.2.1:1", "quorate.example", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")); a.status != http.StatusForbidden || c != nil {
		t.Errorf("a login from a page of another origin: %d %v", a.status, c)
	}
	for i := range c.Value {
		other := byte('A')
		if c.Value[i] == other {
			other = 'B'
		}
		changed := &http.Cookie{Name: c.Name, Value: c.Value[:i] + string(other) + c.Value[i+1:]}
		if a := r.ask(nobody, "GET", "/api/v1/whoami", "", with(changed)); strings.Contains(string(a.body), `"ann"`) {
			t.Errorf("with letter %d changed it is still valid", i)
		}
	}
	if a := newRig(t, withSessions).ask(nobody, "GET", "/api/v1/whoami", "", with(c)); !strings.Contains(string(a.body), `"ann"`) {
		t.Errorf("another replica: %d %s", a.status, a.body)
	}
	for name, other := range map[string]func(*setup){
		"another key": func(c *setup) { c.SessionKey = "another key of thirty-two letters" }, "no key": func(*setup) {},
	} {
		if a := newRig(t, other).ask(nobody, "GET", "/api/v1/whoami", "", with(c)); strings.Contains(string(a.body), `"ann"`) {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	users := stored()
	weaker := users["ann"]
	weaker.Role = "viewer"
	users["ann"] = weaker
	r.must(r.SetUsers(users))
	if a := r.ask(nobody, "POST", trigger, reason, with(c)); a.status != http.StatusForbidden {
		t.Errorf("with a role that was taken away: %d", a.status)
	}
	token, password := weaker, weaker
	token.Token, password.Password = settings.Secret(tokenOf(secret{token: "qt_another"})), settings.Secret(strings.Replace(string(weaker.Password), "$100000$", "$100001$", 1))
	for _, other := range []settings.User{token, password} {
		users["ann"] = other
		r.must(r.SetUsers(users))
		if a := r.ask(nobody, "GET", "/jobs", "", with(c)); a.status != http.StatusUnauthorized {
			t.Errorf("with another secret: %d", a.status)
		}
	}
	r.must(r.SetUsers(stored()))
	if a := r.ask(nobody, "GET", "/jobs", "", with(c)); a.status != http.StatusOK {
		t.Errorf("with the first one again: %d", a.status)
	}
	without := stored()
	maps.DeleteFunc(without, func(name string, _ settings.User) bool { return name == "ann" })
	r.must(r.SetUsers(without))
	if a := r.ask(nobody, "GET", "/jobs", "", with(c)); a.status != http.StatusUnauthorized {
		t.Errorf("who was removed: %d", a.status)
	}
	if a := r.ask(nobody, "POST", "/logout", "", with(c)); a.status != http.StatusSeeOther || cookieOf(a) == nil || cookieOf(a).MaxAge >= 0 || cookieOf(a).Value != "" {
		t.Errorf("a logout: %d %v", a.status, a.header)
	}
}

// A session ends 12 hours after the last request, and 7 days after the login.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, withSessions)
		_, c := r.logsIn(operator, "")
		opens := func() bool { return r.ask(nobody, "GET", "/jobs", "", with(c)).status == http.StatusOK }
		time.Sleep(12*time.Hour - time.Second)
		if !opens() {
			t.Error("it ends before 12 hours")
		}
		if time.Sleep(time.Second); opens() {
			t.Error("it lasts longer than 12 hours")
		}
		_, c = r.logsIn(operator, "")
		begun := time.Now()
		for opens() {
			time.Sleep(time.Hour)
			if next := cookieOf(r.ask(nobody, "GET", "/jobs", "", with(c))); next != nil && next.Value != "" {
				c = next
			}
			if time.Since(begun) > 8*24*time.Hour {
				break
			}
		}
		if lasted := time.Since(begun); lasted != 7*24*time.Hour {
			t.Errorf("in use it lasts %v", lasted)
		}
	})
}

// By TLS, also to a trusted proxy, the cookie is for TLS only.
func TestSessionsByTLS(t *testing.T) {
	t.Parallel()
	r := newRig(t, withSessions, func(c *setup) { c.TrustedProxies.Addresses = []string{"10.0.0.0/8"} })
	for addr, secure := range map[string]bool{"10.1.2.3:1": true, "192.0.2.1:1": false} {
		if _, c := r.logsIn(typed, "", from(addr, "q", "X-Forwarded-Proto", "https")); c == nil || c.Secure != secure {
			t.Errorf("from %s: %+v", addr, c)
		}
	}
}
