package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/internal/store/health"
)

// fiveNodes all vote.
type fiveNodes struct{ fewNodes }

func (fiveNodes) Inspect(context.Context) (list []health.Node) {
	for i := range 5 {
		name := fmt.Sprintf("n%d", i+1)
		list = append(list, health.Node{
			Name: name, URL: "redis://" + name + ".example.com:6379", Reachable: true, Vouches: true, Version: "7.4.2", Persistence: "aof", MaxmemoryPolicy: "noeviction",
			RTT: time.Millisecond, Offset: time.Millisecond, Since: time.Now().Add(-time.Hour), Members: []string{"n1", "n2", "n3", "n4", "n5"},
		})
	}
	return list
}

// An hour of nodes with these names: the first one is down in its 10th minute and does not vote in its 11th, and
// nothing is known of the 21st to the 30th.
func anHour(names ...string) func(time.Time) []health.Minute {
	h := new(health.Hour)
	begin := time.Now().Truncate(time.Minute).Add(-59 * time.Minute)
	for i := range 60 {
		if i >= 20 && i < 30 {
			continue
		}
		var states []health.State
		for k, name := range names {
			states = append(states, health.State{
				Node: name, Up: k > 0 || i != 9, Votes: k > 0 || i != 9 && i != 10,
				Latest: time.Duration(1+i*(k+7)%13) * time.Millisecond, Offset: -time.Duration(1+i*(k+3)%17) * 100 * time.Microsecond,
			})
		}
		h.Note(begin.Add(time.Duration(i)*time.Minute), states)
	}
	return h.Minutes
}

// The last hour of each node is told in pictures and in words, also by a light page.
func TestNodesOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12*time.Hour + 30*time.Second)
		r := newRig(t, func(c *setup) {
			c.Control.Health, c.Control.LastHour = fiveNodes{}, anHour("n1", "n2", "n3", "n4", "n5")
		})
		r.shows("/nodes", []string{
			"the worst of each minute since <time", "11:01:00</time>", "as this replica saw it",
			`aria-label="Since 11:01:00: down in 1 minute, not voting in 1 minute, voting in 48 minutes"`, `aria-label="Since 11:01:00: voting in 50 minutes"`,
			"<title>11:10:00: down</title>", "<title>11:11:00: not voting</title>",
			"<title>Answers in p95 13.00 ms, at most 13.00 ms, in 49 minutes</title>", "<title>Clock off by p95 1.70 ms, at most 1.70 ms, in 50 minutes</title>",
		}, []string{"no samples yet"})
		a := r.ask(viewer, "GET", "/nodes", "", packed)
		if most := 12 << 10; a.status != http.StatusOK || len(a.body) > most {
			t.Errorf("%d, %d bytes of %d", a.status, len(a.body), most)
		}
		t.Logf("%d bytes", len(a.body))
		if text := string(r.ask(viewer, "GET", "/nodes", "").body); strings.Count(text, `class="spark"`) != 10 || strings.Count(text, `class="cells"`) != 5 {
			t.Errorf("five nodes have not two lines and a strip each: %s", text)
		}
	})
}

// The only store has a last hour, too, which does not speak of votes.
func TestStoreOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(12*time.Hour + 30*time.Second)
		r := newRig(t, func(c *setup) {
			c.Control.Health, c.Control.LastHour = oneStore{away: new(atomic.Bool)}, anHour("db:5432/app")
		})
		r.shows("/nodes", []string{
			`aria-label="Since 11:01:00: down in 1 minute, not ready in 1 minute, ready in 48 minutes"`, "<title>11:11:00: not ready</title>", "<title>Answers in p95 ",
		}, []string{"no samples yet", "voting"})
	})
}

// A replica that has just begun says that it has seen nothing yet.
func TestNodesWithoutSamples(t *testing.T) {
	t.Parallel()
	for name, hour := range map[string]func(time.Time) []health.Minute{"not a replica": nil, "new": new(health.Hour).Minutes} {
		r := newRig(t, func(c *setup) { c.Control.LastHour = hour })
		t.Log(name)
		r.shows("/nodes", []string{"no samples yet"}, []string{"as this replica saw it", `class="spark"`, `class="cells"`})
	}
}
