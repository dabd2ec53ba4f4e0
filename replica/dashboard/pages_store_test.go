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

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store/single/kv"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler/commands"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/roster"
)

// oneStore is the only store of a cluster.
type oneStore struct{ away *atomic.Bool }

func (oneStore) NodeKind() string { return view.KindStore }

func (s oneStore) Nodes(context.Context) []view.Node {
	n := view.Node{Node: "db:5432/app", Kind: view.KindStore, URL: "db:5432/app", State: view.NodeReady, Members: []string{}, Warnings: []string{}}
	if s.away.Load() {
		n.State = view.NodeDown
	}
	return []view.Node{n}
}

func (oneStore) Checks(context.Context) []view.Check {
	return []view.Check{{Node: view.Optional("db:5432/app"), Kind: view.KindStore, State: view.NodeReady, Verdict: "ok", Findings: []view.Finding{}}}
}

func (oneStore) Locks(context.Context) ([]view.Lock, error) {
	return []view.Lock{{Job: "report", State: "held", Holder: view.Optional("a")}}, nil
}

// Tags, and what the ledger of the test answers while it is away.
var tags = regexp.MustCompile(`<[^>]*>|` + locking.ErrNoQuorum.Error())

// On one store no page speaks of nodes, votes and quorums, also while the store is away.
func TestPagesOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *setup) {
			c.Nodes = oneStore{away}
			c.Control.Roster, c.Control.Ledger = awayRoster{c.Control.Roster, away}, pagesLedger{c.Control.Ledger, away}
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
		r.shows("/?range=15m", []string{"The state of the replicas is unknown: the store does not answer.", "The runs are unknown."}, nil)
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
	roster.Roster
	err error
}

func (r silentRoster) Replicas(context.Context) ([]roster.Replica, error) { return nil, r.err }
func (r silentRoster) Jobs(context.Context) ([]roster.JobInfo, error)     { return nil, r.err }

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
				c.Nodes = oneStore{away}
				c.Control.Ledger, c.Control.Roster = silentLedger{c.Control.Ledger, tt.err}, silentRoster{c.Control.Roster, tt.err}
				c.Control.Remembered = nil
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
