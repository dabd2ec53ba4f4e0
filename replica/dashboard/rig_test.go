package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hostile is a text that must not become part of a page.
const hostile = `</script><script>alert("x")</script>`

// A rig is a server over a cluster in memory.
type rig struct {
	testing.TB
	*dashboard.Handler
	locks    *locktest.Memory
	ledger   *schedtest.Ledger
	roster   *schedtest.Roster
	commands *schedtest.Commands

	mu      sync.Mutex
	evicted []string
}

// A secret is how a user says who they are.
type secret struct{ name, password, token string }

var (
	admin    = secret{name: "root", token: "qt_admin"}
	operator = secret{name: "ann", token: "qt_operator"}
	typed    = secret{name: "ann", password: "a long enough password"} // the operator, in a browser
	viewer   = secret{name: "bob", token: "qt_viewer"}
	nobody   = secret{}
)

// stored are the users with the forms in which their secrets are kept. The password
// has as few rounds as are allowed: to check it takes a while.
func stored() map[string]settings.User {
	const password = "pbkdf2-sha256$100000$c2FsdCBvZiBhIHRlc3Rlcg$Dvvp4StPSBoZNVEZUEGOzd/+KuL0cn7l5MNZiduwKbc"
	return map[string]settings.User{
		admin.name:    {Role: identity.Admin, Token: settings.Secret(tokenOf(admin))},
		operator.name: {Role: identity.Operator, Password: password, Token: settings.Secret(tokenOf(operator))},
		viewer.name:   {Role: identity.Viewer, Token: settings.Secret(tokenOf(viewer))},
	}
}

// A setup is what a rig shows, and how.
type setup struct {
	view.Host
	dashboard.Config
}

func (s setup) Shown() view.Host { return s.Host }

// newRig has two jobs, one of which has run three times, and a pause.
func newRig(tb testing.TB, mend ...func(*setup)) *rig {
	tb.Helper()
	r := &rig{TB: tb, locks: new(locktest.Memory), roster: new(schedtest.Roster), commands: new(schedtest.Commands)}
	r.ledger = schedtest.NewLedger(r.locks)
	cfg := setup{
		Host: view.Host{
			Control: view.Control{
				Reader: view.Reader{Records: store.Records{Ledger: r.ledger, Roster: r.roster, JobSets: r.roster, Commands: r.commands}, Health: fewNodes{}, Claims: rigClaims{rig: r}},
			},
			ID: "a", Version: "v1",
		},
		Config: dashboard.Config{
			HTTP: settings.HTTP{Users: stored(), Anonymous: identity.AnonymousNone}, Poll: 20 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
		},
	}
	for _, m := range mend {
		m(&cfg)
	}
	var err error
	if r.Handler, err = dashboard.Mount(cfg, cfg.Config); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	r.fill()
	return r
}

// fill lets a job run three times, and another one be skipped.
func (r *rig) fill() {
	r.Helper()
	ctx, now := context.Background(), time.Now().Truncate(time.Second)
	info := roster.JobInfo{Schedule: "@every 1h", Definition: `{"spec":"@every 1h"}`, Timezone: "UTC", Replica: "a", Published: now, ConfigHash: "c1", Tags: []string{"finance"}}
	for _, name := range []string{"report", "sweep"} {
		info.Name, info.Description = name, hostile
		r.must(r.roster.Publish(ctx, []roster.JobInfo{info}))
	}
	r.keep("report", "report", "1", map[string]any{"x": hostile}) // named as jobs are, so that what asks at random finds it
	r.beat(now)
	for n := range 3 {
		r.run(now.Add(time.Duration(n-10)*time.Minute), ledger.Failed)
	}
	r.record(ledger.Entry{Job: "sweep", Tick: now.Add(-time.Minute), Trigger: ledger.BySchedule, Outcome: ledger.Skipped, Reason: ledger.TextReason(hostile)})
	_, err := r.commands.Do(ctx, commands.Command{Kind: commands.Pause, Tag: "finance", By: "x", Reason: hostile})
	r.must(err)
}

// beat lets the replica be seen, which started at started.
func (r *rig) beat(started time.Time) {
	r.Helper()
	_, err := r.roster.Beat(context.Background(), roster.Replica{ID: "a", Host: "h", PID: 1, State: "ready", ConfigHash: "c1", Started: started})
	r.must(err)
}

func (r *rig) run(at time.Time, outcome ledger.Outcome) ledger.Entry {
	r.Helper()
	e := ledger.Entry{Job: "report", Tick: at, Outcome: ledger.Running, Trigger: ledger.BySchedule, Replica: "a", Started: at}
	lease, err := r.locks.TryAcquire(context.Background(), locking.Request{Name: e.Job, Tick: at, TTL: time.Minute, Holder: "a", Note: ledger.EncodeNote(e)})
	r.must(err)
	e.Token = lease.Claim().Token
	if outcome == ledger.Running {
		return e
	}
	e.Outcome, e.Finished, e.Error, e.Calls = outcome, at.Add(time.Second), hostile, 1
	r.must(lease.Release(context.Background(), ledger.EncodeNote(e)))
	r.must(r.ledger.Store(context.Background(), e.Job, jobs.History{}, ledger.Log{Job: e.Job, Tick: at, Token: e.Token, Text: hostile}))
	return e
}

func (r *rig) record(e ledger.Entry) {
	r.Helper()
	_, err := r.ledger.Record(context.Background(), e)
	r.must(err)
}

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// rigClaims have a lock of report only, which is not listed.
type rigClaims struct {
	fewNodes
	rig *rig
}

func (c rigClaims) Evict(_ context.Context, name string, token locking.Token, reason string) (locking.Holding, error) {
	if name != "report" {
		return locking.Holding{}, locking.ErrNotHeld
	}
	c.rig.mu.Lock()
	defer c.rig.mu.Unlock()
	c.rig.evicted = append(c.rig.evicted, name+": "+reason)
	return locking.Holding{Name: name, Holder: "a", Token: max(token, 1), On: locking.Votes{For: 3, Of: 3}}, nil
}

// fewNodes are two nodes, one of which is down, and no locks.
type fewNodes struct{}

func (fewNodes) OneStore() bool { return false }

func (fewNodes) Inspect(context.Context) []health.Node {
	return []health.Node{
		{Name: "n1", URL: "redis://n1", Reachable: true, Vouches: true, Members: []string{"n1"}},
		{Name: "n2", URL: "redis://n2", Err: errors.New("n2: refused"), Warnings: []string{hostile}},
	}
}

func (fewNodes) Check(context.Context) health.Checkup {
	return health.Checkup{Nodes: []health.Node{{Name: "n1", Reachable: true, Vouches: true, MayRestart: true}}}
}

func (fewNodes) Service(context.Context, string, bool) (string, error) { return "", nil }

func (fewNodes) Holders(context.Context) ([]locking.Holding, error) { return nil, nil }

func (fewNodes) Evict(context.Context, string, locking.Token, string) (locking.Holding, error) {
	return locking.Holding{}, locking.ErrNotHeld
}

func (fewNodes) ForgetLock(context.Context, string) error { return locking.ErrUnknownName }

// An answer is what a request was answered.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask makes a request as somebody, with a body if it is not empty.
func (r *rig) ask(who secret, method, path, body string, mend ...func(*http.Request)) answer {
	r.Helper()
	req := httptest.NewRequestWithContext(r.Context(), method, path, strings.NewReader(body))
	req.RemoteAddr = "192.0.2.1:4711"
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if who.token != "" {
		req.Header.Set("Authorization", "Bearer "+who.token)
	} else if who.name != "" {
		req.SetBasicAuth(who.name, who.password)
	}
	for _, m := range mend {
		m(req)
	}
	rec := httptest.NewRecorder()
	r.ServeHTTP(rec, req)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// get reads a page as a viewer.
func get[R any](r *rig, path string) (items []R, next string) {
	r.Helper()
	a := r.ask(viewer, "GET", path, "")
	var page struct {
		Items []R
		Next  *string
	}
	if err := json.Unmarshal(a.body, &page); err != nil || a.status != http.StatusOK {
		r.Fatalf("%s: %d %s, %v", path, a.status, a.body, err)
	}
	if page.Next != nil {
		next = *page.Next
	}
	return page.Items, next
}

// code is what a problem says to programs.
func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal(a.body, &p)
	return p.Code
}
