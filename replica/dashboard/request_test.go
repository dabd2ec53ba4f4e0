package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/roster"
)

// A trusted proxy names the user, whatever else a request brings to log in with: its
// Authorization header may be meant for the proxy.
func TestProxyBesideAuthorization(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) {
		c.TrustedProxies.Addresses, c.TrustedProxies.UserHeader, c.TrustedProxies.Role = []string{"10.0.0.0/8"}, "X-User", "viewer"
	})
	for n := range 12 {
		a := r.ask(secret{token: "eyJ-of-the-proxy"}, "GET", "/api/v1/whoami", "", from("10.1.2.3:1", "q", "X-User", "ann"))
		if a.status != http.StatusOK || !strings.Contains(string(a.body), `"ann"`) {
			t.Fatalf("request %d: %d %s", n, a.status, a.body)
		}
	}
	if a := r.ask(typed, "GET", "/api/v1/whoami", "", from("10.1.2.3:1", "q")); a.status != http.StatusOK {
		t.Errorf("the proxy's address was counted as guessing: %d %s", a.status, a.body)
	}
	a := r.ask(secret{token: "qt_wrong"}, "GET", "/api/v1/whoami", "", from("192.0.2.1:1", "q", "X-User", "ann"))
	if a.status != http.StatusUnauthorized {
		t.Errorf("from elsewhere: %d %s", a.status, a.body)
	}
}

// Only what can be read without being a user is described so, and no command is.
func TestDocumentSaysWhoMayAsk(t *testing.T) {
	t.Parallel()
	for _, anonymous := range []identity.Anonymous{identity.AnonymousNone, identity.AnonymousLoopback, identity.AnonymousAll} {
		r := newRig(t, func(c *setup) { c.Anonymous = anonymous })
		var doc struct {
			Security []map[string]any
			Paths    map[string]map[string]struct {
				Role     identity.Role `json:"x-role"`
				Security []map[string]any
			}
		}
		r.must(json.Unmarshal(r.ask(nobody, "GET", "/api/v1/openapi.json", "").body, &doc))
		for path, methods := range doc.Paths {
			for method, op := range methods {
				if op.Security == nil {
					op.Security = doc.Security
				}
				open := false
				for _, way := range op.Security {
					open = open || len(way) == 0
				}
				if want := op.Role == identity.Viewer && anonymous != identity.AnonymousNone; open != want || len(op.Security) < 2 {
					t.Errorf("anonymous: %s: %s %s works without a user: %v, want %v", anonymous, method, path, open, want)
				}
			}
		}
	}
}

// A body that is refused is refused for a field of the caller's, in plain words.
func TestBodyErrorsNameTheField(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const trigger, backfill = "/api/v1/jobs/report/trigger", "/api/v1/jobs/report/backfill"
	for _, tc := range []struct{ path, body, want string }{
		{trigger, `{}`, `reason: is missing`},
		{trigger, `[]`, `the body is a list; send an object`},
		{trigger, `{"reason": 5}`, `reason: is a number; write a text`},
		{trigger, `{"reason": ""}`, `reason: is empty`},
		{trigger, `{"reason": "` + strings.Repeat("x", 1100) + `"}`, `reason: has 1100 characters; at most 1024 are allowed`},
		{trigger, `{"reason": "so", "within": "soon"}`, `within: "soon" has the wrong form; write one such as 90s`},
		{trigger, `{"reason": "so", "parms": {}}`, `parms: unknown field; known are params, reason, within`},
		{trigger, `{"reason": "so", "params": [1]}`, `params: is a list; write an object`},
		{backfill, `{"reason": "so", "from": true, "to": "x"}`, `from: is true or false; write a text`},
		{backfill, `{"reason": "so", "from": "yesterday", "to": "x"}`, `from: "yesterday" has the wrong form; write one such as 2027-01-01T00:00:00Z`},
		{backfill, `{"reason": "so", "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "concurrency": 1.5}`, `concurrency: is 1.5; write a whole number`},
		{backfill, `{"reason": "so", "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "concurrency": 1e300}`, `concurrency: is 1e+300; write a whole number`},
		{backfill, `{"reason": "so", "from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z", "dry_run": "yes"}`, `dry_run: is a text; write true or false`},
		{trigger, `{"reason": null}`, `reason: is null; write a text`},
		{"/api/v1/locks/report/release", `{"reason": "x", "confirm": "report"}`, `reason: has 1 character; write at least 2`},
		{"/api/v1/locks/report/release", `{"reason": "` + strings.Repeat("x", 600) + `", "confirm": "report"}`, `reason: has 600 characters; at most 500 are allowed`},
		{"/api/v1/locks/report/release", `{"reason": "so", "confirm": "report", "token": -1}`, `token: is -1; write 0 or more`},
	} {
		a := r.ask(admin, "POST", tc.path, tc.body)
		var p struct{ Detail string }
		r.must(json.Unmarshal(a.body, &p))
		if a.status != http.StatusBadRequest || p.Detail != tc.want {
			t.Errorf("%.80s: %d %q, want %q", tc.body, a.status, p.Detail, tc.want)
		}
	}
}

// While no quorum answers a page shows what it was asked for, or nothing: never
// another set of jobs.
func TestOldSetIsTheOneAskedFor(t *testing.T) {
	t.Parallel()
	away := new(atomic.Bool)
	r := newRig(t, func(c *setup) { c.Control.Records.JobSets = jobSets{c.Control.Records.JobSets, away} })
	r.keep("c1", "job-of-c1", "1", nil)
	page := func(hash string) string {
		return string(r.ask(viewer, "GET", "/configuration?set="+hash, "").body)
	}
	if text := page("c1"); !strings.Contains(text, "job-of-c1") {
		t.Fatalf("the page does not show the set: %s", text)
	}
	away.Store(true)
	if text := page("c1"); !strings.Contains(text, "job-of-c1") {
		t.Errorf("the set is not shown as it was read last: %s", text)
	}
	if text := page("c2"); strings.Contains(text, "job-of-c1") {
		t.Errorf("asked for c2, the page shows c1: %s", text)
	}
}

// Times far off are answered, too: with nothing, or with what is wrong.
func TestNextFromFarAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, schedule := range map[string]string{"leap": "0 0 29 2 *", "night": "30 2 * * *", "dense": "@every 1s", "sunday": "0 12 * * sun#5", "once": "@at 9999-12-31T23:59:59Z"} {
		definition := fmt.Sprintf(`{"spec":%q,"zone":"America/New_York"}`, schedule)
		info := roster.JobInfo{Name: name, Schedule: schedule, Definition: definition, Timezone: "America/New_York", Replica: "a", Published: time.Now(), ConfigHash: "c1"}
		r.must(r.roster.Publish(t.Context(), []roster.JobInfo{info}))
	}
	for _, from := range []string{"9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999999999-12:00", "9990-01-01T00:00:00Z", "2999-12-31T00:00:00Z", "1970-01-01T00:00:00Z"} {
		a := r.ask(viewer, "GET", "/api/v1/next?limit=1000&from="+strings.ReplaceAll(from, "+", "%2B"), "")
		var page struct{ Items []struct{ Tick string } }
		err := json.Unmarshal(a.body, &page)
		if a.status != http.StatusOK && a.status != http.StatusBadRequest || err != nil {
			t.Errorf("%s: %d %.200s, %v", from, a.status, a.body, err)
		}
		for _, row := range page.Items {
			if _, err := time.Parse(time.RFC3339, row.Tick); err != nil {
				t.Errorf("%s: tick %s is no time", from, row.Tick)
				break
			}
		}
	}
}

// jobSets are those of a cluster, unless it is away.
type jobSets struct {
	roster.JobSets
	away *atomic.Bool
}

func (s jobSets) JobSet(ctx context.Context, hash string) ([]byte, error) {
	if s.away.Load() {
		return nil, locking.ErrNoQuorum
	}
	return s.JobSets.JobSet(ctx, hash)
}

// A command that too many ask for at once is not a mistake of the server: it may be
// asked for again.
func TestSplitCommandMayBeAskedAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Control.Records.Commands = splitCommands{c.Control.Records.Commands} })
	a := r.ask(operator, "POST", "/api/v1/jobs/report/pause", `{"reason": "so"}`)
	var p struct{ Code string }
	r.must(json.Unmarshal(a.body, &p))
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || p.Code != "split" {
		t.Errorf("%d, Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.body)
	}
}

// splitCommands are those of nodes whose votes are always divided.
type splitCommands struct{ store.Commands }

func (splitCommands) Do(context.Context, commands.Command) (commands.Command, error) {
	return commands.Command{}, fmt.Errorf("reserving: %w", locking.ErrSplit)
}

// Where no users are configured, the page that wants one says how to make one.
func TestLoginWithoutUsers(t *testing.T) {
	t.Parallel()
	const command = "quorate users password"
	for name, tc := range map[string]struct {
		change func(*setup)
		want   bool
	}{
		"users":    {func(*setup) {}, false},
		"no users": {func(c *setup) { c.Users = nil }, true},
		"by a proxy": {func(c *setup) {
			c.Users = nil
			c.TrustedProxies.Addresses, c.TrustedProxies.UserHeader, c.TrustedProxies.Role = []string{"10.0.0.0/8"}, "X-User", "viewer"
		}, false},
	} {
		a := newRig(t, tc.change).ask(nobody, "GET", "/login", "")
		if a.status != http.StatusUnauthorized || strings.Contains(string(a.body), command) != tc.want {
			t.Errorf("%s: %d, names the command: %v, want %v\n%s", name, a.status, !tc.want, tc.want, a.body)
		}
	}
}
