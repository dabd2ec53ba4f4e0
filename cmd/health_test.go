package cmd

import (
	"context"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/cmd/internal/cluster"
	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/internal/store/health"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/locking/locktest"
	"github.com/quorate/quorate/replica/dashboard"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/identity"
	"github.com/quorate/quorate/scheduler/roster"
	"github.com/quorate/quorate/scheduler/schedtest"
)

// A snapshot is a cluster that stays as it is.
type snapshot []health.Node

func (snapshot) OneStore() bool { return false }

func (s snapshot) Inspect(context.Context) []health.Node { return s }
func (snapshot) Check(context.Context) health.Checkup    { return health.Checkup{} }
func (snapshot) Service(context.Context, string, bool) (string, error) {
	return "", nil
}
func (snapshot) Holders(context.Context) ([]locking.Holding, error) { return nil, nil }
func (snapshot) Evict(context.Context, string, locking.Token, string) (locking.Holding, error) {
	return locking.Holding{}, locking.ErrNotHeld
}
func (snapshot) ForgetLock(context.Context, string) error { return nil }

// A heard roster has replicas that were heard of at other times than in the test.
type heard struct {
	*schedtest.Roster
	ago map[string]time.Duration
}

func (h heard) Replicas(ctx context.Context) ([]roster.Replica, error) {
	list, err := h.Roster.Replicas(ctx)
	for i, r := range list {
		list[i].Seen = r.Seen.Add(-h.ago[r.ID])
	}
	return list, err
}

func (h heard) Remembered(ctx context.Context) ([]roster.Replica, error) { return h.Replicas(ctx) }

// A host is shown by a dashboard.
type host view.Host

func (h host) Shown() view.Host { return view.Host(h) }

// TestHealthIsSaidOnce: top, the pages, and a program that reads the API say the same about
// the same cluster.
func TestHealthIsSaidOnce(t *testing.T) {
	t.Parallel()
	nodes := snapshot{{Name: "n1", Reachable: true, Vouches: true}, {Name: "n2", Reachable: true, Refuses: true}, {Name: "n3", Slow: true}}
	peers := heard{new(schedtest.Roster), map[string]time.Duration{"mute": view.SilentAfter + 2*time.Second}}
	for _, r := range []roster.Replica{
		{ID: "fine", State: roster.StateReady}, {ID: "mute", State: roster.StateReady}, {ID: "late", State: roster.StateDraining},
	} {
		if _, err := peers.Roster.Beat(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	s, err := dashboard.Mount(host{
		Control: view.Control{Reader: view.Reader{
			Records: store.Records{Ledger: schedtest.NewLedger(new(locktest.Memory)), Roster: peers, JobSets: peers, Commands: new(schedtest.Commands)},
			Health:  nodes, Claims: nodes,
		}},
	}, dashboard.Config{HTTP: settings.HTTP{Anonymous: identity.AnonymousAll}})
	if err != nil {
		t.Fatal(err)
	}
	at := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		at.Close()
	})

	api, err := cluster.NewServer(at.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	replicas, err := api.Replicas(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	said, _ := view.ReplicaHealth(replicas, nil, time.Now())
	if between(said.Text, "3 replicas; ", "late is draining") == "" || !strings.Contains(said.Text, "mute has been silent for ") {
		t.Errorf("the rows of the API say %q", said.Text)
	}
	listed, err := api.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	margin := view.MarginOf(listed)
	if margin.Level != view.Warn {
		t.Errorf("the margin is %+v", margin)
	}

	top, _, topCode := quorate(t, "top", "--once", "--server", at.URL)
	if _, _, code := quorate(t, "nodes", "--server", at.URL); code != topCode {
		t.Errorf("exit code %d of nodes, %d of top", code, topCode)
	}
	overview, replicaPage, nodePage := readPage(t, at.URL+"/"), readPage(t, at.URL+"/replicas"), readPage(t, at.URL+"/nodes")
	words, _, _ := strings.Cut(said.Text, " has been") // a second may have passed
	for where, text := range map[string]string{"top": top, "the overview": overview} {
		if !strings.Contains(text, words) {
			t.Errorf("%s does not say %q:\n%s", where, words, text)
		}
	}
	for where, text := range map[string]string{"the overview": overview, "the page of the nodes": nodePage} {
		if !strings.Contains(text, margin.Text) || !strings.Contains(text, margin.More) {
			t.Errorf("%s does not say %q:\n%s", where, margin.Text, text)
		}
	}
	for where, text := range map[string]string{
		"top of the nodes": between(top, "✕  n2", "refusing"), "top of a silent replica": between(top, "!  mute", "ready"), "top of a node": between(top, "!  n3", "slow"), "top of the votes": between(top, "! ", "1 of 3 nodes votes: some are slow"),
		"the page of the nodes": between(nodePage, "✕", "refusing"), "of a node": between(nodePage, "!", "slow"), "of the replicas": between(replicaPage, "mute", "silent"),
	} {
		if text == "" {
			t.Errorf("%s: it is not said:\n%s\n%s\n%s", where, top, nodePage, replicaPage)
		}
	}
}

// between is the line of text with both words, "" if there is none.
func between(text, first, then string) string {
	for line := range strings.Lines(text) {
		if _, after, ok := strings.Cut(line, first); ok && strings.Contains(after, then) {
			return line
		}
	}
	return ""
}

// readPage returns a page as it reads.
func readPage(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", url, resp.StatusCode, err)
	}
	return html.UnescapeString(string(text))
}
