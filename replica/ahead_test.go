package replica

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/dev/testkit/redistest"
	"github.com/quorate/quorate/internal/store/quorum/membership"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
)

// aheadOn runs a test on one Redis, and on three nodes, each with a replica whose job runs each second.
func aheadOn(t *testing.T, test func(t *testing.T, minis *redistest.Minis, run func() (*ranTicks, *logtest.Buffer))) {
	t.Helper()
	for name, nodes := range map[string]int{"one Redis": 1, "nodes": 3} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				minis := redistest.MiniN(t, nodes)
				at := settings.Redis{Nodes: settings.Nodes(minis.URLs()...)}
				c := membership.Config{Dial: minis.Dial, Embedded: true}
				for _, url := range minis.URLs() {
					c.Nodes = append(c.Nodes, membership.NodeConfig{URL: url})
				}
				if nodes == 1 {
					at.URL, at.Nodes, c.Nodes[0].Name = at.Nodes[0].URL, nil, membership.SingleName
				}
				set, err := membership.Open(c)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = set.Close() }()
				declareNew(t, set)
				test(t, minis, func() (*ranTicks, *logtest.Buffer) {
					var ran ranTicks
					var log logtest.Buffer
					r, err := New(Config{Replica: settings.Replica{ID: "a"}, Redis: at, Dial: minis.Dial, Embedded: true, Logger: logTo(&log), Jobs: []jobs.Job{{Name: "j", Spec: "@every 1s", Handler: ran.run}}})
					if err != nil {
						t.Fatal(err)
					}
					stop := start(context.WithoutCancel(t.Context()), r)
					t.Cleanup(func() { _ = stop() })
					return &ran, &log
				})
			})
		})
	}
}

// Nodes whose clocks are an hour ahead for some seconds, while those of replicas are right, cost no tick.
func TestNodesWereAhead(t *testing.T) {
	t.Parallel()
	aheadOn(t, func(t *testing.T, minis *redistest.Minis, run func() (*ranTicks, *logtest.Buffer)) {
		ran, log := run()
		set := func(to func() time.Time) {
			for i := range minis.URLs() {
				minis.Node(i).SetTime(to())
			}
		}
		time.Sleep(5 * time.Second)
		for range 12 {
			set(func() time.Time { return time.Now().Add(time.Hour) })
			time.Sleep(time.Second)
		}
		set(func() time.Time { return time.Time{} }) // the clock of the bubble
		time.Sleep(20*time.Second + time.Second/2)
		ran.mu.Lock()
		defer ran.mu.Unlock()
		if len(ran.tokens) < 36 {
			t.Errorf("%d ticks of 37 ran:\n%s", len(ran.tokens), log)
		}
	})
}

// Nodes that have granted tokens minutes ahead say so, what to do, and until when. Then ticks run again.
func TestTokensAreAheadOfNodes(t *testing.T) {
	t.Parallel()
	aheadOn(t, func(t *testing.T, minis *redistest.Minis, run func() (*ranTicks, *logtest.Buffer)) {
		far := time.Now().Add(3 * time.Minute)
		for i := range minis.URLs() {
			if err := minis.Node(i).Set("{quorate}:job:j:fence", strconv.FormatInt(far.Unix()<<20, 10)+" - - "); err != nil {
				t.Fatal(err)
			}
		}
		ran, log := run()
		time.Sleep(10 * time.Second)
		want := []string{"clock: too few nodes are left without those whose tokens are ahead of the clocks: ", "Correct that clock, and start nodes that are down"}
		if len(minis.URLs()) == 1 {
			want = []string{"clock: the clock of the store is behind its tokens: ", "Correct that clock, and wait"}
		}
		for _, text := range append(want, "was ahead", "this passes at 2000-01-01T00:02:51Z") {
			if !strings.Contains(log.String(), text) {
				t.Errorf("the log lacks %q:\n%s", text, log)
			}
		}
		time.Sleep(time.Until(far))
		ran.mu.Lock()
		defer ran.mu.Unlock()
		first := far
		for tick, tokens := range ran.tokens {
			if tick.Before(first) {
				first = tick
			}
			if uint64(tokens[0]) <= uint64(far.Unix())<<20 {
				t.Errorf("the tick %v has the token %d, which is not above the earlier ones", tick, tokens[0])
			}
		}
		if at := time.Date(2000, 1, 1, 0, 2, 51, 0, time.UTC); first.Before(at.Add(-2*time.Second)) || first.After(at.Add(2*time.Second)) {
			t.Errorf("the first tick that runs is %v, want %v", first, at)
		}
	})
}
