package dashboard_test

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// oneStore is the only store of a cluster.
type oneStore struct {
	fewNodes
	away *atomic.Bool
}

func (oneStore) OneStore() bool { return true }

func (s oneStore) Inspect(context.Context) []health.Node {
	return []health.Node{{Name: "db:5432/app", URL: "db:5432/app", Reachable: !s.away.Load(), Vouches: true}}
}

func (s oneStore) Check(context.Context) health.Checkup {
	return health.Checkup{Nodes: []health.Node{{Name: "db:5432/app", Reachable: true, Vouches: true}}}
}

func (oneStore) Holders(context.Context) ([]locking.Holding, error) {
	return []locking.Holding{{Name: "report", Holder: "a", Token: 1, On: locking.Votes{For: 1, Of: 1}}}, nil
}

// Tags, and what the ledger of the test answers while it is away.
var tags = regexp.MustCompile(`<[^>]*>|` + locking.ErrNoQuorum.Error())

// On one store no page speaks of nodes, votes and quorums, also while the store is away.
func TestPagesOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *setup) {
			one := oneStore{away: away}
			c.Control.Health, c.Control.Claims = one, one
			c.away(away)
		})
		r.run(time.Now().Add(-time.Second), ledger.Running)
		_, err := r.roster.Beat(t.Context(), roster.Replica{ID: "b", State: "waiting", ConfigHash: "c1", Seen: time.Now()})
		r.must(err)
		paths := r.paths()
		look := func() {
			t.Helper()
			for _, path := range paths {
				text := tags.ReplaceAllString(string(r.ask(viewer, "GET", path, "").body), " ")
				if word := regexp.MustCompile(`(?i).*\b(nodes?|votes?|quorum)\b.*`).FindString(text); word != "" {
					t.Errorf("%s says %s", path, word)
				}
			}
		}
		look()
		r.shows("/", []string{"The store is ready. There is only one"}, nil)
		r.shows("/nodes?check=1", []string{"<h1>Store</h1>", "db:5432/app", "Nothing to do."}, nil)
		r.shows("/replicas", []string{"for the store, or for its grace", "the clock of the store"}, nil)
		away.Store(true)
		look()
		r.shows("/", []string{"The store does not answer: no tick can start", "Not all could be read just now. This page was read at"}, nil)
		r.shows("/?range=15m", []string{"The store does not answer: no tick can start", "This page was read at"}, nil)
	})
}

// A silentLedger and a silentRoster answer with an error.
type silentLedger struct {
	kept
	err error
}

func (l silentLedger) Skim(context.Context, []ledger.Stretch, bool) ([]ledger.Skimmed, error) {
	return nil, l.err
}

func (l silentLedger) Ticks(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, l.err }

func (l silentLedger) Runs(context.Context, ledger.Query) ([]ledger.Entry, error) { return nil, l.err }

type silentRoster struct {
	store.Roster
	err error
}

func (r silentRoster) Replicas(context.Context) ([]roster.Replica, error)   { return nil, r.err }
func (r silentRoster) Remembered(context.Context) ([]roster.Replica, error) { return nil, r.err }
func (r silentRoster) Left(context.Context) ([]roster.Replica, error)       { return nil, r.err }
func (r silentRoster) Jobs(context.Context) ([]roster.JobInfo, error)       { return nil, r.err }

// inGrace is the error of one store that does not vouch for commands yet.
type inGrace struct{ error }

func (inGrace) Is(target error) bool {
	return target == commands.ErrGrace || target == locking.ErrNoQuorum
}

// Nothing was read before the outage of the only store: what pages and the API say then does not speak
// of nodes, votes and quorums.
func TestProblemsOfOneStore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		status int
		page   string // its heading
	}{
		"silent":       {kv.ErrUnavailable, http.StatusServiceUnavailable, "The store does not answer"},
		"in its grace": {inGrace{errors.New("the store may lack commands until its grace ends")}, http.StatusServiceUnavailable, "The store is new or has restarted"},
		"slow":         {context.DeadlineExceeded, http.StatusGatewayTimeout, "The store answers too slowly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			away := new(atomic.Bool)
			away.Store(true)
			r := newRig(t, func(c *setup) {
				c.Control.Health = oneStore{away: away}
				c.Control.Records.Ledger, c.Control.Records.Roster = silentLedger{c.Control.Records.Ledger, tt.err}, silentRoster{c.Control.Records.Roster, tt.err}
			})
			paths := []string{"/", "/jobs", "/jobs/report", "/ticks", "/replicas", "/configuration", "/runs/report@2026-11-21T12:00:00Z", "/audit", "/nodes"}
			for _, p := range []string{"jobs", "jobs/report", "jobs/report/runs", "ticks", "replicas", "next", "runs/report@2026-11-21T12:00:00Z", "audit"} {
				paths = append(paths, "/api/v1/"+p)
			}
			refused := 0
			for _, path := range paths {
				a := r.ask(viewer, "GET", path, "")
				text := regexp.MustCompile(`<[^>]*>|"code":"no_quorum"`).ReplaceAllString(string(a.body), " ")
				if word := regexp.MustCompile(`(?i).*\b(nodes?|votes?|quorum)\b.*`).FindString(text); word != "" {
					t.Errorf("%s says %s", path, word)
				}
				if a.status == tt.status {
					refused++
				}
			}
			if refused < 6 {
				t.Errorf("%d answers have status %d", refused, tt.status)
			}
			if text := string(r.ask(viewer, "GET", "/jobs", "").body); !strings.Contains(text, "<h1>"+tt.page+"</h1>") {
				t.Errorf("the page of the problem: %s", text)
			}
			away.Store(false)
			r.shows("/", []string{"The state of the replicas is unknown: it could not be read, although the store answers."}, nil)
		})
	}
}
