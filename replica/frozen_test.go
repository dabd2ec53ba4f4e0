package replica

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/internal/console/webhook"
	"github.com/quorate/quorate/jobs"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
	"github.com/quorate/quorate/scheduler/schedtest"
	"github.com/quorate/quorate/scheduler/schedule"
)

// posts are the messages that a webhook has posted.
type posts struct {
	mu   sync.Mutex
	list []webhook.Message
}

func (p *posts) RoundTrip(req *http.Request) (*http.Response, error) {
	var m webhook.Message
	if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = append(p.list, m)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
}

// A replica that was frozen while a tick came says, as what it knows, that it did not run it. If
// another one ran it, nobody tells that it was missed; if none did, one replica tells so, once the
// ledger has it.
func TestFrozenReplicasTellWhatTheLedgerHas(t *testing.T) {
	t.Parallel()
	every, err := schedule.Parse("@every 1h", schedule.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const before, at, after = 59*time.Minute + 58*time.Second, time.Hour, time.Hour + time.Minute
	for _, tt := range []struct {
		name     string
		frozen   []string
		from, to time.Duration // since the start; the tick is that of 1h
		ran      bool
		notHere  int
	}{
		{"one sleeps over the tick", []string{"replica-1"}, before, after, true, 1},
		{"another one does", []string{"replica-2"}, before, after, true, 1},
		{"one sleeps for long", []string{"replica-1"}, before, 50*time.Minute + at, true, 1},
		{"all but one sleep", []string{"replica-1", "replica-3"}, before, after, true, 2},
		{"all sleep", []string{"replica-1", "replica-2", "replica-3"}, before, after, false, 3},
		{"all sleep for long", []string{"replica-1", "replica-2", "replica-3"}, before, 50*time.Minute + at, false, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var log logtest.Buffer
			var posted posts
			var sink atomic.Pointer[webhook.Sink] // made in the bubble
			told := events{slog.New(slog.NewTextHandler(&log, nil)), new(unrecorded)}
			setup := schedtest.Setup{
				Jobs: []jobs.Job{{Name: "hourly", Schedule: every, Handler: func(context.Context, jobs.Run) error { return nil }}},
				Config: scheduler.Config{NotifySettled: true, Observer: func(e event.Event) {
					told.observe(e)
					if s := sink.Load(); s != nil {
						s.Observe(e)
					}
				}},
			}
			schedtest.Run(t, setup, func(t *testing.T, c *schedtest.Cluster) {
				ctx, stop := context.WithCancel(t.Context())
				var posting sync.WaitGroup
				hook := webhook.New(webhook.Config{
					Webhook: settings.Webhook{URL: "https://example.com", Events: []string{webhook.Started, webhook.Finished, webhook.Failed, webhook.Late, webhook.LeaseLost, webhook.Missed, webhook.Skipped}},
					Client:  &http.Client{Transport: &posted},
				})
				posting.Go(func() { hook.Run(ctx) })
				sink.Store(hook)
				begun := c.Now()
				c.Forward(tt.from)
				for _, name := range tt.frozen {
					c.Replica(name).Freeze()
				}
				c.ForwardTo(begun.Add(tt.to))
				for _, name := range tt.frozen {
					c.Replica(name).Thaw()
				}
				c.ForwardTo(begun.Add(at + 55*time.Minute))
				stop()
				posting.Wait()

				want := ledger.Missed
				if tt.ran {
					want = ledger.Succeeded
				}
				if ticks := c.Ticks("hourly"); len(ticks) != 1 || ticks[0].Outcome != want {
					t.Errorf("the ledger has %v, want one tick that is %s", ticks, want)
				}
				text, missed := log.String(), 0
				for _, m := range posted.list {
					if m.Event == webhook.Missed {
						missed++
					}
				}
				wantMissed := map[bool]int{true: 0, false: 1}[tt.ran]
				if n := strings.Count(text, `level=WARN msg="tick missed"`); n != wantMissed || missed != wantMissed {
					t.Errorf("the log says %d times that the tick was missed, and the webhook %d times, want %d:\n%s", n, missed, wantMissed, text)
				}
				if n := strings.Count(text, `level=INFO msg="not run here"`); n != tt.notHere {
					t.Errorf("%d replicas say that they did not run the tick, want %d:\n%s", n, tt.notHere, text)
				}
				if n := strings.Count(text, "missed"); n != strings.Count(text, "outcome=missed")+wantMissed {
					t.Errorf("more is told of missed ticks:\n%s", text)
				}
			})
		})
	}
}
