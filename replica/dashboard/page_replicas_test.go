package dashboard_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/internal/console/view"
	"github.com/quorate/quorate/internal/store"
	"github.com/quorate/quorate/scheduler/roster"
)

// The page of the replicas says what each has won, how its clock is, and who serves
// something else.
func TestReplicasPage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := time.Now()
	behind := now.Add(-2500 * time.Millisecond) // what the clock of b says
	for _, one := range []roster.Replica{
		{ID: "b", State: "ready", ConfigHash: "c1", Seen: now, Won: new(int64(4711)), Jobs: new(12), ConfigSince: behind.Add(-time.Hour), ClockOffset: new(-2500 * time.Millisecond)},
		{ID: "c", State: "waiting", ConfigHash: "c2", Seen: now, ClockOffset: new(300 * time.Microsecond)},
		{ID: "d", State: "draining", ConfigHash: "c1", Seen: now},
	} {
		_, err := r.roster.Beat(t.Context(), one)
		r.must(err)
	}
	text := string(r.ask(viewer, "GET", "/replicas", "").body)
	for want, times := range map[string]int{
		"4711<small>since it started": 1, "2.5 s behind": 1, "needs setting": 1, "within 1 ms": 1, "unknown": 2, "12 <code>c1": 1,
		"differs from most": 1, "for a quorum, or for the nodes' grace": 1, "takes no new ticks": 1, "1 h ago": 1,
	} {
		if got := strings.Count(text, want); got != times {
			t.Errorf("%q is there %d times, not %d: %s", want, got, times, text)
		}
	}
	if strings.Contains(text, view.TwinsText) {
		t.Errorf("replicas with ids of their own are called twins: %s", text)
	}
	_, err := r.roster.Beat(t.Context(), roster.Replica{ID: "b", Instance: "2", State: "ready", ConfigHash: "c1", Seen: now})
	r.must(err)
	if text := string(r.ask(viewer, "GET", "/replicas", "").body); strings.Count(text, view.TwinsText+": b (process ") != 1 {
		t.Errorf("two processes under one id: %s", text)
	}
	if a := r.ask(viewer, "GET", "/api/v1/replicas", ""); !strings.Contains(string(a.body), `"won":4711`) || !strings.Contains(string(a.body), `"offset_ms":-2500`) {
		t.Errorf("the API: %s", a.body)
	}
}

// noLeft is a roster that cannot say who left.
type noLeft struct{ store.Roster }

func (noLeft) Left(context.Context) ([]roster.Replica, error) { return nil, errors.New("odd") }

// A part of a page that cannot be read does not take the page with it.
func TestPageWithoutAPart(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *setup) { c.Control.Records.Roster = noLeft{c.Control.Records.Roster} })
	r.shows("/replicas", []string{"<b>a</b>", "Those that left: internal error; the log of replica a has the cause"}, nil)
}

// Who may restart a replica knows which jobs no other one may run meanwhile, or that this is not known.
func TestRestartOfTheOnlyOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, err := r.roster.Beat(t.Context(), roster.Replica{ID: "b", State: "ready", ConfigHash: "c1", Seen: time.Now(), Labels: map[string]string{"gpu": "yes"}})
	r.must(err)
	r.shows("/replicas", []string{"yes, if others may run its jobs: a set of jobs is not known"}, []string{"no other runs"})
	r.shows("/", []string{"Any may be restarted if others may run its jobs: a set of jobs is not known."}, nil)
	r.keep("c1", "draw", "1", map[string]any{"labels": map[string]any{"gpu": "yes"}})
	r.shows("/replicas", []string{`<td data-label="Restart?">no other runs draw meanwhile</td>`, `<td data-label="Restart?">yes</td>`}, nil)
	r.shows("/", []string{"Some alone may run a job: see Replicas before a restart."}, nil)
	rows, _ := get[view.Replica](r, "/api/v1/replicas")
	if len(rows) != 2 || rows[0].Alone == nil || len(rows[0].Alone) != 0 || !slices.Equal(rows[1].Alone, []string{"draw"}) {
		t.Errorf("the API: %+v", rows)
	}
}
