package dashboard_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/gate"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
)

func tokenOf(s secret) string {
	sum := sha256.Sum256([]byte(s.token))
	return "sha256$" + hex.EncodeToString(sum[:])
}

// from makes a request come from an address.
func from(addr, host string, headers ...string) func(*http.Request) {
	return func(r *http.Request) {
		r.RemoteAddr, r.Host = addr, host
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
}

// Who may do what.
func TestRoles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const reason = `{"reason": "so"}`
	for _, tc := range []struct {
		method, path, body string
		least              identity.Role
	}{
		{"GET", "/api/v1/jobs", "", identity.Viewer},
		{"GET", "/api/v1/configuration", "", identity.Viewer},
		{"GET", "/api/v1/jobs/report/runs", "", identity.Viewer},
		{"POST", "/api/v1/jobs/report/trigger", reason, identity.Operator},
		{"POST", "/api/v1/jobs/report/pause", reason, identity.Operator},
		{"POST", "/api/v1/jobs/report/resume", reason, identity.Operator},
		{"POST", "/api/v1/pause", `{"reason": "so", "all": true}`, identity.Operator},
		{"POST", "/api/v1/resume", `{"reason": "so", "all": true}`, identity.Operator},
		{"POST", "/api/v1/jobs/report/backfill", `{"reason": "so", "from": "2026-01-01T00:00:00Z", "to": "2026-01-01T05:00:00Z", "dry_run": true}`, identity.Operator},
		{"POST", "/api/v1/locks/report/release", `{"reason": "so", "confirm": "report"}`, identity.Admin},
	} {
		for _, who := range []struct {
			secret
			role identity.Role
		}{{nobody, ""}, {viewer, identity.Viewer}, {operator, identity.Operator}, {admin, identity.Admin}} {
			a := r.ask(who.secret, tc.method, tc.path, tc.body)
			want := http.StatusOK
			switch {
			case who.role == "":
				want = http.StatusUnauthorized
			case !who.role.Allows(tc.least):
				want = http.StatusForbidden
			}
			if a.status != want {
				t.Errorf("%s %s as %q: %d, want %d: %s", tc.method, tc.path, who.role, a.status, want, a.body)
			}
		}
	}
	if len(r.evicted) != 1 {
		t.Errorf("evicted: %v", r.evicted)
	}
}

// Nobody acts without a role, also not from this machine.
func TestNobodyActsFromLocalhost(t *testing.T) {
	t.Parallel()
	for _, anonymous := range []identity.Anonymous{"", identity.AnonymousLoopback, identity.AnonymousAll} {
		r := newRig(t, func(c *setup) { c.Anonymous = anonymous })
		a := r.ask(nobody, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`, from("127.0.0.1:1", "localhost:8080"))
		if a.status != http.StatusUnauthorized || len(a.header.Values("WWW-Authenticate")) != 2 {
			t.Errorf("%q: %d %s", anonymous, a.status, a.body)
		}
	}
}

func TestAnonymousReaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name      string
		anonymous identity.Anonymous
		mend      func(*http.Request)
		want      bool
	}{
		{"this machine", identity.AnonymousLoopback, from("127.0.0.1:1", "localhost:8080"), true},
		{"this machine by address", identity.AnonymousLoopback, from("[::1]:1", "[::1]:8080"), true},
		{"another machine", identity.AnonymousLoopback, from("192.0.2.7:1", "localhost"), false},
		{"a proxy on this machine", identity.AnonymousLoopback, from("127.0.0.1:1", "localhost", "X-Forwarded-For", "192.0.2.7"), false},
		{"a page of somebody else", identity.AnonymousLoopback, from("127.0.0.1:1", "evil.example:8080"), false},
		{"all", identity.AnonymousAll, from("192.0.2.7:1", "quorate.example"), true},
		{"none", identity.AnonymousNone, from("127.0.0.1:1", "localhost"), false},
		{"the default", "", from("127.0.0.1:1", "localhost"), false},
		{"a trusted proxy", identity.AnonymousAll, from("10.0.0.7:1", "quorate.example"), false},
		{"a trusted proxy that names a client", identity.AnonymousAll, from("10.0.0.7:1", "quorate.example", "X-Forwarded-For", "192.0.2.7"), false},
		{"a trusted proxy on this machine", identity.AnonymousLoopback, from("127.0.0.9:1", "127.0.0.1:8080"), false},
	} {
		r := newRig(t, func(c *setup) {
			c.Anonymous = tc.anonymous
			c.TrustedProxies.Addresses = []string{"10.0.0.7", "127.0.0.9"}
		})
		if a := r.ask(nobody, "GET", "/api/v1/jobs", "", tc.mend); (a.status == http.StatusOK) != tc.want {
			t.Errorf("%s: %d %s", tc.name, a.status, a.body)
		}
	}
}

// A header names the user only if a proxy that is trusted sends it.
func TestProxy(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) {
		c.TrustedProxies.Addresses, c.TrustedProxies.UserHeader, c.TrustedProxies.Role = []string{"10.0.0.0/8"}, "X-User", "viewer"
	})
	for _, tc := range []struct {
		name, addr, user string
		path             string
		want             int
	}{
		{"a user of its own", "10.1.2.3:1", "ann", "/api/v1/jobs/report/trigger", http.StatusOK},
		{"anybody else reads", "10.1.2.3:1", "carl", "/api/v1/jobs", http.StatusOK},
		{"and does not act", "10.1.2.3:1", "carl", "/api/v1/jobs/report/trigger", http.StatusForbidden},
		{"not from elsewhere", "192.0.2.1:1", "ann", "/api/v1/jobs/report/trigger", http.StatusUnauthorized},
		{"nobody is named", "10.1.2.3:1", "", "/api/v1/jobs", http.StatusUnauthorized},
	} {
		method, body := "GET", ""
		if strings.HasSuffix(tc.path, "trigger") {
			method, body = "POST", `{"reason": "so"}`
		}
		a := r.ask(nobody, method, tc.path, body, from(tc.addr, "q", "X-User", tc.user, "X-Forwarded-For", "192.0.2.99, 198.51.100.7"))
		if a.status != tc.want {
			t.Errorf("%s: %d %s", tc.name, a.status, a.body)
		}
	}
	commands, _ := get[view.Command](r, "/api/v1/audit")
	if !slices.ContainsFunc(commands, func(a view.Command) bool { return view.Text(a.By) == "ann@198.51.100.7" }) {
		t.Errorf("the audit log names %+v", commands)
	}
}

// Who guesses must wait, and nobody else.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	wrong := secret{token: "qt_wrong"}
	for n := range 10 {
		if a := r.ask(wrong, "GET", "/api/v1/jobs", ""); a.status != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d %s", n, a.status, a.body)
		}
	}
	a := r.ask(wrong, "GET", "/api/v1/jobs", "")
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("the next guess: %d %s", a.status, a.body)
	}
	if a := r.ask(typed, "GET", "/api/v1/jobs", ""); a.status != http.StatusTooManyRequests {
		t.Errorf("a password from the same address: %d %s", a.status, a.body)
	}
	if a := r.ask(viewer, "GET", "/api/v1/jobs", ""); a.status != http.StatusOK {
		t.Errorf("a token that is right: %d %s", a.status, a.body)
	}
	for range 2 { // it is remembered
		if a := r.ask(typed, "GET", "/api/v1/jobs", "", from("192.0.2.8:1", "q")); a.status != http.StatusOK {
			t.Errorf("from another address: %d %s", a.status, a.body)
		}
	}
	for _, s := range []secret{{name: "ann", password: operator.token}, {name: "root", password: operator.token}} { // a token in place of a password
		want := map[string]int{"ann": http.StatusOK, "root": http.StatusUnauthorized}[s.name]
		if a := r.ask(s, "GET", "/api/v1/jobs", "", from("192.0.2.8:1", "q")); a.status != want {
			t.Errorf("ann's token as %s: %d %s", s.name, a.status, a.body)
		}
	}
	if a := r.ask(secret{name: "ann", password: "another long password"}, "GET", "/api/v1/jobs", "", from("192.0.2.8:1", "q")); a.status != http.StatusUnauthorized {
		t.Errorf("another password: %d %s", a.status, a.body)
	}
}

// Guesses that come at once are counted one by one, and those that come from all
// addresses of one host as from one.
func TestManyGuessesAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(cfg *setup) { cfg.Timeout = 10 * time.Minute })
	var checked atomic.Int64
	var all sync.WaitGroup
	for n := range 20 {
		all.Go(func() {
			guess := secret{name: "ann", password: fmt.Sprintf("a wrong password %d", n)}
			for {
				a := r.ask(guess, "GET", "/api/v1/jobs", "", from(fmt.Sprintf("[2001:db8::%x]:1", n+1), "q"))
				if a.status == http.StatusUnauthorized {
					checked.Add(1)
				}
				if !bytes.Contains(a.body, []byte("too many logins at once")) { // on a busy machine some wait in vain
					return
				}
			}
		})
	}
	all.Wait()
	if n := checked.Load(); n != 10 {
		t.Errorf("%d guesses were checked, of 10 a minute", n)
	}
	if a := r.ask(typed, "GET", "/api/v1/jobs", "", from("[2001:db8:0:1::1]:1", "q")); a.status != http.StatusOK {
		t.Errorf("from another network: %d %s", a.status, a.body)
	}
}

// Many guesses from many addresses hold a login up by a few checks of a password, not
// by all of them.
func TestGuessesDoNotHoldUpALogin(t *testing.T) {
	t.Parallel()
	const guesses, addresses = 24, 6 // of one user fewer than make all wait
	asked := make(chan struct{}, guesses+1)
	r := newRig(t, func(cfg *setup) {
		cfg.Timeout = 10 * time.Minute
		cfg.Identify = func(*http.Request) (identity.Identity, bool) {
			asked <- struct{}{}
			return identity.Identity{}, false
		}
	})
	ctx, giveUp := context.WithCancel(t.Context())
	var answered atomic.Int64
	var all sync.WaitGroup
	for n := range guesses {
		all.Go(func() {
			guess := secret{name: typed.name, password: fmt.Sprint("a wrong password ", n)}
			r.ask(guess, "GET", "/api/v1/jobs", "", from(fmt.Sprintf("198.51.100.%d:1", n%addresses), "q"), func(req *http.Request) { *req = *req.WithContext(ctx) })
			answered.Add(1)
		})
	}
	for range guesses {
		<-asked
	}
	a := r.ask(typed, "GET", "/api/v1/jobs", "")
	if n := answered.Load(); a.status != http.StatusOK || n > guesses/2 {
		t.Errorf("the login was answered %d, after %d of %d guesses", a.status, n, guesses)
	}
	giveUp()
	all.Wait()
}

// A page of another origin cannot make a browser command.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, headers := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		a := r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`, from("192.0.2.1:1", "quorate.example", headers...))
		if a.status != http.StatusForbidden || a.code() != "cross_origin" {
			t.Errorf("%v: %d %s", headers, a.status, a.body)
		}
	}
	a := r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "so"}`, from("192.0.2.1:1", "q", "Content-Type", "text/plain"))
	if a.status != http.StatusUnsupportedMediaType {
		t.Errorf("what a form can send: %d %s", a.status, a.body)
	}
}

// Commands are in the audit log with who and why, and so are those that were refused,
// some of them.
func TestEveryCommandIsAudited(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.ask(operator, "POST", "/api/v1/jobs/report/trigger", `{"reason": "yesterday's failed"}`)
	r.ask(viewer, "POST", "/api/v1/jobs/report/trigger", `{"reason": "I want it"}`)
	r.ask(nobody, "POST", "/api/v1/pause", `{"reason": "mischief", "all": true}`)
	r.ask(operator, "POST", "/api/v1/locks/report/release", `{"reason": "hangs", "confirm": "report"}`)
	r.ask(admin, "POST", "/api/v1/locks/report/release", `{"reason": "hangs", "confirm": "report"}`)
	commands, _ := get[view.Command](r, "/api/v1/audit")
	var got []string
	for _, a := range commands {
		got = append(got, fmt.Sprintf("%s of %s by %s: %s: %s", a.Kind, a.Target(), view.Text(a.By), view.Text(a.Reason), view.Text(a.Result)))
	}
	for _, want := range []string{
		"trigger of report by ann@192.0.2.1: yesterday's failed: ",
		"trigger of report by bob@192.0.2.1: I want it: refused: bob has role viewer; this needs the role operator",
		"pause of all jobs by nobody@192.0.2.1: mischief: refused: this needs the role operator",
		"release of report by ann@192.0.2.1: hangs: refused: ann has role operator; this needs the role admin",
		"release of report by root@192.0.2.1: hangs: taken from a",
	} {
		found := false
		for _, line := range got {
			found = found || strings.HasPrefix(line, want)
		}
		if !found {
			t.Errorf("the audit log lacks %q:\n%s", want, strings.Join(got, "\n"))
		}
	}
	before := len(commands)
	for range 50 {
		r.ask(nobody, "POST", "/api/v1/pause", `{"reason": "flood", "all": true}`)
	}
	if commands, _ := get[view.Command](r, "/api/v1/audit"); len(commands) > before+10 {
		t.Errorf("a flood of refusals left %d notes", len(commands)-before)
	}
}

// A service that knows its users says who they are.
func TestIdentify(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) {
		c.BasePath = "/admin/cron"
		c.Identify = func(r *http.Request) (identity.Identity, bool) {
			return identity.Identity{Name: "carl", Role: identity.Operator}, r.Header.Get("X-Session") == "carl's"
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/admin/cron/", r.Handler)
	a := r.ask(nobody, "POST", "/admin/cron/api/v1/jobs/report/trigger", `{"reason": "so"}`, from("192.0.2.1:1", "q", "X-Session", "carl's"))
	if a.status != http.StatusOK || !strings.Contains(string(a.body), "carl@192.0.2.1") {
		t.Errorf("%d %s", a.status, a.body)
	}
	for path, want := range map[string]int{
		"/admin/cron/api/v1/jobs": http.StatusUnauthorized, "/admin/cron/login": http.StatusUnauthorized, "/api/v1/jobs": http.StatusNotFound, "/admin/cron/": http.StatusUnauthorized,
	} {
		if a := r.ask(nobody, "GET", path, ""); a.status != want {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	if _, err := gate.HashPassword("short"); err == nil {
		t.Error("a short password is taken")
	}
	hash, err := gate.HashPassword(typed.password)
	r := newRig(t, func(cfg *setup) {
		cfg.Users[typed.name] = settings.User{Role: identity.Operator, Password: settings.Secret(hash)}
	})
	if a := r.ask(typed, "GET", "/api/v1/whoami", ""); err != nil || a.status != http.StatusOK {
		t.Errorf("a password that was hashed now: %v, %d %s", err, a.status, a.body)
	}
	token, kept := gate.NewToken()
	again, _ := gate.NewToken()
	if gate.ValidateToken(kept) != nil || kept != tokenOf(secret{token: token}) || token == again || strings.Contains(kept, token) {
		t.Errorf("NewToken = %s, %s, then %s", token, kept, again)
	}
	for _, text := range []string{"", "secret", "sha256$abc", "pbkdf2-sha256$1$AAAAAAAAAAA$AAAA", "pbkdf2-sha256$600000$x$y", token} {
		if gate.ValidatePassword(text) == nil || gate.ValidateToken(text) == nil {
			t.Errorf("%q is taken for the stored form of a secret", text)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for name, mend := range map[string]func(*setup){
		"no control": func(c *setup) { c.Control = view.Control{} },
		"base path":  func(c *setup) { c.BasePath = "admin" },
		"dots":       func(c *setup) { c.BasePath = "/a/../b" },
		"anonymous":  func(c *setup) { c.Anonymous = "some" },
		"role":       func(c *setup) { c.Users = map[string]settings.User{"x": {Role: "king"}} },
		"plain secret": func(c *setup) {
			c.Users = map[string]settings.User{"x": {Token: "secret"}}
		},
		"name of blank": func(c *setup) { c.Users = map[string]settings.User{"x y": {}} },
	} {
		r := newRig(t)
		cfg := setup{
			view.Host{Control: view.Control{Reader: view.Reader{Records: store.Records{Ledger: r.ledger, Roster: r.roster, Commands: r.commands}, Health: fewNodes{}, Claims: rigClaims{rig: r}}}},
			dashboard.Config{HTTP: settings.HTTP{Users: stored()}},
		}
		h, err := dashboard.Mount(cfg, cfg.Config)
		if err != nil {
			t.Fatal(err)
		}
		h.Close()
		mend(&cfg)
		if _, err := dashboard.Mount(cfg, cfg.Config); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
