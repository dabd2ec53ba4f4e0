package web_test

import (
	"context"
	"regexp"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/listing"
	"github.com/quorate/quorate/internal/web"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/ledger"
)

// oneStore is the only store of a cluster.
type oneStore struct{ away *atomic.Bool }

func (oneStore) NodeKind() string { return listing.KindStore }

func (s oneStore) Nodes(context.Context) []listing.Node {
	n := listing.Node{Node: "db:5432/app", Kind: listing.KindStore, URL: "db:5432/app", State: listing.NodeReady, Members: []string{}, Warnings: []string{}}
	if s.away.Load() {
		n.State = listing.NodeDown
	}
	return []listing.Node{n}
}

func (oneStore) Checks(context.Context) []listing.Check {
	return []listing.Check{{Node: listing.Optional("db:5432/app"), Kind: listing.KindStore, State: listing.NodeReady, Verdict: "ok", Findings: []listing.Finding{}}}
}

func (oneStore) Locks(context.Context) ([]listing.Lock, error) {
	return []listing.Lock{{Job: "report", State: "held", Holder: listing.Optional("a")}}, nil
}

// Tags, and what the ledger of the test answers while it is away.
var tags = regexp.MustCompile(`<[^>]*>|` + locking.ErrNoQuorum.Error())

// On one store no page speaks of nodes, votes and quorums, also while the store is away.
func TestPagesOnOneStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := new(atomic.Bool)
		r := newRig(t, func(c *web.Config) {
			c.Nodes = oneStore{away}
			c.Control.Roster, c.Control.Ledger = roster{c.Control.Roster, away}, pagesLedger{c.Control.Ledger, away}
		})
		r.run(time.Now().Add(-time.Second), ledger.Running)
		_, err := r.roster.Beat(t.Context(), scheduler.Replica{ID: "b", State: "waiting", ConfigHash: "c1", Seen: time.Now()})
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
		r.shows("/", []string{"The store does not answer: no tick can start", "The store did not answer. This page was read at"}, nil)
		r.shows("/?range=15m", []string{"The state of the replicas is unknown: the store does not answer.", "The runs are unknown."}, nil)
	})
}
