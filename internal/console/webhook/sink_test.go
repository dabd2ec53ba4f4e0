package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quorate/quorate/dev/testkit/logtest"
	"github.com/quorate/quorate/locking"
	"github.com/quorate/quorate/replica/settings"
	"github.com/quorate/quorate/scheduler/event"
	"github.com/quorate/quorate/scheduler/ledger"
)

var update = flag.Bool("update", false, "write the golden file anew")

// An endpoint answers requests in memory.
type endpoint struct {
	mu     sync.Mutex
	answer func(n int) (status int, err error) // to the n-th request
	got    []*http.Request
	bodies []string
}

func (e *endpoint) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	n := len(e.got)
	e.got, e.bodies = append(e.got, req), append(e.bodies, string(body))
	e.mu.Unlock()
	status := http.StatusOK
	if e.answer != nil {
		if status, err = e.answer(n); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Request: req}, nil
}

func (e *endpoint) ids(t *testing.T) []string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	var ids []string
	for _, body := range e.bodies {
		var m Message
		if err := json.Unmarshal([]byte(body), &m); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, m.ID)
	}
	return ids
}

// events are all that a webhook can be sent.
func events() []string {
	field, _ := reflect.TypeFor[settings.Webhook]().FieldByName("Events")
	return strings.Split(field.Tag.Get("choices"), ",")
}

// running starts a sink for the endpoint, and returns it with what ends it.
func running(t *testing.T, e *endpoint, cfg Config) (*Sink, func()) {
	t.Helper()
	cfg.Client = &http.Client{Transport: e}
	if cfg.URL == "" {
		cfg.URL = "https://hooks.example.com/a"
	}
	if cfg.Events == nil {
		cfg.Events = events()
	}
	cfg.Replica, cfg.Namespace = "r", "n"
	s := New(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	return s, func() {
		cancel()
		<-done
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func entry(o ledger.Outcome) ledger.Entry {
	e := ledger.Entry{
		Job: "report", Tick: noon, Trigger: ledger.BySchedule, Replica: "r", Outcome: o, Reason: ledger.TextReason("words"),
	}
	if o != ledger.Skipped && o != ledger.Missed {
		e.Token, e.Attempt, e.Calls = 1848472352686080, 2, 3
		e.Started, e.Finished, e.Error = noon.Add(time.Second), noon.Add(2*time.Second), "exit status 3"
	}
	return e
}

// started is told of a run that has just started.
var started = event.Event{Kind: event.Started, Entry: entry(ledger.Running)}

// begun is an entry of a run that has just started.
func begun() ledger.Entry {
	e := entry(ledger.Running)
	e.Calls, e.Finished, e.Reason, e.Error = 0, time.Time{}, ledger.Reason{}, ""
	return e
}

// once is that of the first attempt.
func once() ledger.Entry {
	e := begun()
	e.Token, e.Attempt = 7, 1
	return e
}

// The form of messages is a contract with their receivers.
func TestMessages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		s, stop := running(t, e, Config{})
		s.Observe(event.Event{Kind: event.Finished, Entry: entry(ledger.Failed)})
		s.Observe(event.Event{Kind: event.Settled, Entry: entry(ledger.Missed)})
		s.Observe(event.Event{Kind: event.Late, Entry: once(), By: 90 * time.Second})
		s.Observe(event.Event{Kind: event.Started, Entry: begun(), By: time.Second})
		synctest.Wait()
		stop()
		got := strings.Join(e.bodies, "\n") + "\n"
		if *update {
			if err := os.WriteFile("testdata/messages.json", []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/messages.json")
		if err != nil || got != string(want) {
			t.Errorf("messages are\n%s, want\n%s (%v)", got, want, err)
		}
		req := e.got[0]
		if req.Method != http.MethodPost || req.Header.Get("Content-Type") != "application/json" || req.Header.Get("Idempotency-Key") != e.ids(t)[0] {
			t.Errorf("the request is %s with %v", req.Method, req.Header)
		}
	})
}

// Each end of a run is told once, as what says most of what was asked for.
func TestEvents(t *testing.T) {
	t.Parallel()
	all := []event.Event{
		{Kind: event.Started, Entry: entry(ledger.Running)},
		{Kind: event.Late, Entry: once(), By: time.Minute},
		{Kind: event.LeaseLost, Entry: once(), Err: locking.ErrLeaseLost},
		{Kind: event.Finished, Entry: entry(ledger.Succeeded)},
		{Kind: event.Finished, Entry: entry(ledger.Failed), Err: errors.New("no quorum")},
		{Kind: event.Finished, Entry: entry(ledger.TimedOut)},
		{Kind: event.Finished, Entry: entry(ledger.Interrupted)}, // handed over: the next attempt has its end told
		{Kind: event.Recorded, Entry: entry(ledger.Missed)},
		{Kind: event.Settled, Entry: entry(ledger.Missed)},
		{Kind: event.Settled, Entry: entry(ledger.Skipped)},
	}
	for _, tt := range []struct {
		events []Event
		want   string
	}{
		{nil, "2.started 1.late 1.lease_lost 2.finished 2.failed 2.failed missed skipped"},
		{[]Event{Finished}, "2.finished 2.finished 2.finished"},
		{[]Event{Failed, Missed}, "2.failed 2.failed missed"},
		{[]Event{Started, Skipped}, "2.started skipped"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := &endpoint{}
			s, stop := running(t, e, Config{Webhook: settings.Webhook{Events: tt.events}})
			for _, event := range all {
				s.Observe(event)
			}
			synctest.Wait()
			stop()
			got := strings.NewReplacer("report@20261121T120000~000Z~", "", "~", ".").Replace(strings.Join(e.ids(t), " "))
			if got != tt.want {
				t.Errorf("asked for %v: told %s, want %s", tt.events, got, tt.want)
			}
		})
	}
}

func TestJobsAreChosenByNameAndTag(t *testing.T) {
	t.Parallel()
	tags := map[string][]string{"report": {"finance"}, "backup": {"night", "db"}, "ping": nil}
	for _, tt := range []struct{ jobs, tags, want []string }{
		{nil, nil, []string{"backup", "ping", "report"}},
		{[]string{"ping"}, nil, []string{"ping"}},
		{nil, []string{"db"}, []string{"backup"}},
		{[]string{"ping"}, []string{"finance"}, []string{"ping", "report"}},
	} {
		s := New(Config{
			Webhook: settings.Webhook{Events: events(), Jobs: tt.jobs, Tags: tt.tags}, TagsOf: func(job string) []string { return tags[job] },
		})
		for _, job := range []string{"backup", "ping", "report"} {
			s.Observe(event.Event{Kind: event.Started, Entry: ledger.Entry{Job: job, Tick: noon, Outcome: ledger.Running}})
		}
		var got []string
		close(s.queue)
		for m := range s.queue {
			got = append(got, m.Job)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("jobs %v, tags %v: told of %v, want %v", tt.jobs, tt.tags, got, tt.want)
		}
	}
}

// What may pass is tried again, after growing pauses; the rest is lost.
func TestTries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		status     int
		err        error
		good       int // the first request that is taken
		posts      int
		lost       uint64
		from, upto time.Duration
	}{
		{"taken", 204, nil, 0, 1, 0, 0, 0},
		{"taken at the third", 503, nil, 2, 3, 0, 1500 * time.Millisecond, 3 * time.Second},
		{"no answer", 0, errors.New("connection refused"), 1, 2, 0, 500 * time.Millisecond, time.Second},
		{"slow down", 429, nil, 1, 2, 0, 500 * time.Millisecond, time.Second},
		{"refused", 404, nil, 9, 1, 1, 0, 0},
		{"never taken", 500, nil, 99, 4, 1, 3500 * time.Millisecond, 7 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			e := &endpoint{answer: func(n int) (int, error) {
				if n >= tt.good {
					return 200, nil
				}
				return tt.status, tt.err
			}}
			s, stop := running(t, e, Config{Tries: 4})
			s.Observe(started)
			for len(e.ids(t)) < tt.posts {
				time.Sleep(10 * time.Millisecond)
			}
			took := time.Since(begun)
			synctest.Wait()
			stop()
			stats := s.Stats()
			if len(e.got) != tt.posts || stats.Lost != tt.lost || stats.Sent != 1-tt.lost {
				t.Errorf("%s: %d posts, %+v; want %d and %d lost", tt.name, len(e.got), stats, tt.posts, tt.lost)
			}
			if took < tt.from || took > tt.upto+20*time.Millisecond {
				t.Errorf("%s: took %v, want %v to %v", tt.name, took, tt.from, tt.upto)
			}
			if ids := e.ids(t); len(slices.Compact(ids)) != 1 {
				t.Errorf("%s: the tries of one message have the ids %v", tt.name, ids)
			}
		})
	}
}

// A queue that is full loses the oldest messages, counts them and logs them;
// nobody waits.
func TestFullQueueLosesTheOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		hold := make(chan struct{})
		e := &endpoint{answer: func(int) (int, error) { <-hold; return 200, nil }}
		s, stop := running(t, e, Config{Queue: 2, Webhook: settings.Webhook{Timeout: time.Hour}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for n := range 6 {
			s.Observe(event.Event{Kind: event.Finished, Entry: ledger.Entry{Job: fmt.Sprint("j", n), Tick: noon, Outcome: ledger.Succeeded}})
			synctest.Wait()
		}
		close(hold)
		synctest.Wait()
		stop()
		if got := s.Stats(); got != (Stats{Sent: 3, Lost: 3}) {
			t.Errorf("%+v, want 3 sent and 3 lost", got)
		}
		if ids := strings.Join(e.ids(t), " "); !strings.Contains(ids, "j0@") || !strings.Contains(ids, "j5@") || strings.Contains(ids, "j3@") {
			t.Errorf("posted are %s, want j0, j4 and j5", ids)
		}
		if !strings.Contains(log.String(), "lost_so_far=3") {
			t.Errorf("the log does not count three:\n%s", &log)
		}
	})
}

// The drain gives what waits one more try, and no more than its time.
func TestFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := true
		e := &endpoint{answer: func(int) (int, error) {
			if down {
				return 0, errors.New("connection refused")
			}
			return 200, nil
		}}
		s, stop := running(t, e, Config{Backoff: time.Hour, MaxBackoff: time.Hour})
		for range 3 {
			s.Observe(started)
		}
		synctest.Wait()
		down = false
		stop()
		if got := s.Stats(); got != (Stats{Sent: 3}) {
			t.Errorf("after the flush: %+v, want 3 sent", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{answer: func(int) (int, error) {
			time.Sleep(2 * time.Second)
			return 0, errors.New("reset")
		}}
		s, stop := running(t, e, Config{Flush: 3 * time.Second})
		for range 5 {
			s.Observe(started)
		}
		synctest.Wait()
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > 20*time.Second || s.Stats().Lost != 5 {
			t.Errorf("the flush took %v, %+v", took, s.Stats())
		}
	})
}

// What the URL and the headers hold is in no log line, whatever goes wrong.
func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()
	const token, key, password = "T0PSECRET", "k-e-y-123", "pa55word"
	resolve := func(text string) (string, error) {
		return strings.NewReplacer("${env:TOKEN}", token, "${env:KEY}", key, "${env:PW}", password).Replace(text), nil
	}
	for _, failure := range []error{
		errors.New("dial tcp: lookup hooks.example.com: no such host"),
		fmt.Errorf("proxy said: cannot reach https://u:%s@hooks.example.com/services/%s?key=%s", password, token, key),
		fmt.Errorf("bad header %q, path /services/%s?key=%s", "Bearer "+token, token, key),
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			e := &endpoint{answer: func(int) (int, error) { return 0, failure }}
			s, stop := running(t, e, Config{
				Webhook: settings.Webhook{
					URL:     "https://u:${env:PW}@hooks.example.com/services/${env:TOKEN}?key=${env:KEY}",
					Headers: map[string]settings.Secret{"Authorization": "Bearer ${env:TOKEN}"},
				},
				Resolve: resolve, Tries: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			s.Observe(started)
			synctest.Wait()
			stop()
			if got := e.got[0]; got.Header.Get("Authorization") != "Bearer "+token || got.URL.Query().Get("key") != key {
				t.Errorf("the request has %v, %v", got.URL, got.Header)
			}
			if text := log.String(); !strings.Contains(text, "webhook lost a message") ||
				strings.Contains(text, token) || strings.Contains(text, key) || strings.Contains(text, password) {
				t.Errorf("the log shows a secret, or nothing:\n%s", text)
			}
		})
	}
}

// What the ledger does not have yet is told by nobody: another replica may run the tick.
func TestMissedIsToldOnceTheLedgerSaysSo(t *testing.T) {
	t.Parallel()
	s := New(Config{Webhook: settings.Webhook{Events: events()}})
	s.Observe(event.Event{Kind: event.Decided, Entry: entry(ledger.Missed)})
	s.Observe(event.Event{Kind: event.Recorded, Entry: entry(ledger.Missed), Err: locking.ErrNoQuorum})
	s.Observe(event.Event{Kind: event.Recorded, Entry: entry(ledger.Missed)})
	s.Observe(event.Event{Kind: event.Settled, Entry: entry(ledger.Missed), Err: event.ErrDropped}) // another one may have run it
	if len(s.queue) != 0 {
		t.Errorf("before the ledger says so, it tells %+v", <-s.queue)
	}
	s.Observe(event.Event{Kind: event.Settled, Entry: entry(ledger.Missed)})
	if len(s.queue) != 1 {
		t.Fatalf("a missed tick is told by %d messages, want one", len(s.queue))
	}
	if m := <-s.queue; m.Event != Missed {
		t.Errorf("a missed tick is told as %+v", m)
	}
}

// What no other try can mend is lost at once, so what waits behind it is not held up.
func TestPermanentErrorsAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	values := func(bad string) func(string) (string, error) {
		return func(ref string) (string, error) {
			if ref != "${env:BAD}" {
				return "", fmt.Errorf("%s: the environment variable is not set", ref)
			}
			return bad, nil
		}
	}
	for name, tt := range map[string]struct {
		cfg  Config
		want string
	}{
		"no variable of the url":    {Config{Webhook: settings.Webhook{URL: "${env:MISSING}"}}, "url: ${env:MISSING}: the environment variable is not set"},
		"no variable of a header":   {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"Authorization": "Bearer ${env:MISSING}"}}}, "header Authorization: ${env:MISSING}: the"},
		"no variable of the secret": {Config{Webhook: settings.Webhook{Secret: "${env:MISSING}"}}, "secret: ${env:MISSING}: the"},
		"no secret":                 {Config{Webhook: settings.Webhook{Secret: "${env:BAD}"}, Resolve: values("s3cret")}, "secret: does not begin with whsec_"},
		"an empty secret":           {Config{Webhook: settings.Webhook{Secret: "${env:BAD}"}}, "secret: is empty"},
		"no reference":              {Config{Webhook: settings.Webhook{URL: "https://h/${env:}"}}, "url: ${env:} is no reference"},
		"no scheme":                 {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("hooks.example.com/s3cret")}, "url: is no address that can be posted to"},
		"another scheme":            {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("ftp://hooks.example.com/s3cret")}, "url: is no address that can be posted to"},
		"no host":                   {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("https:///s3cret")}, "url: is no address that can be posted to"},
		"no URL":                    {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("https://[s3cret")}, "url: is no address that can be posted to"},
		"two lines":                 {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"A": "${env:BAD}"}}, Resolve: values("s3cret\nx")}, "header A: has a line break"},
		"no such port":              {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("https://h:99999/s3cret")}, "url: has a port above 65535"},
		"only a port":               {Config{Webhook: settings.Webhook{URL: "${env:BAD}"}, Resolve: values("https://:80/s3cret")}, "url: is no address that can be posted to"},
		"a header of the client":    {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"content-length": "3"}}}, "header content-length: is set by"},
		"a header for the host":     {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"Host": "h"}}}, "header Host: is set by"},
		"the signature":             {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"webhook-signature": "s3cret"}}}, "header webhook-signature: is set by"},
		"the id":                    {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"Idempotency-Key": "s3cret"}}}, "header Idempotency-Key: is set by"},
		"no header name":            {Config{Webhook: settings.Webhook{Headers: map[string]settings.Secret{"a b": "x"}}}, "header a b: is no header name"},
	} {
		synctest.Test(t, func(t *testing.T) {
			if tt.cfg.Resolve == nil {
				tt.cfg.Resolve = values("")
			}
			var log strings.Builder
			tt.cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
			e := &endpoint{}
			begun := time.Now()
			s, stop := running(t, e, tt.cfg)
			for range 3 {
				s.Observe(started)
			}
			synctest.Wait()
			if stats := s.Stats(); stats.Lost != 3 || len(e.got) > 0 || time.Since(begun) > 0 {
				t.Errorf("%s: %+v and %d posts after %v", name, stats, len(e.got), time.Since(begun))
			}
			stop()
			if !strings.Contains(log.String(), tt.want) || strings.Contains(log.String(), "s3cret") {
				t.Errorf("%s: the log says %s", name, log.String())
			}
		})
	}
}

// The first failure is logged at once, and the end of the failures.
func TestFirstFailureIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log logtest.Buffer
		e := &endpoint{answer: func(n int) (int, error) {
			if n < 3 {
				return 503, nil
			}
			return 200, nil
		}}
		s, stop := running(t, e, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.Observe(started)
		s.Observe(started)
		synctest.Wait()
		if n := strings.Count(log.String(), "webhook does not accept messages"); n != 1 || !strings.Contains(log.String(), "status 503") {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		stop()
		if n := strings.Count(log.String(), "webhook does not accept messages"); n != 1 || strings.Count(log.String(), "webhook accepts messages again") != 1 || s.Stats().Sent != 2 {
			t.Errorf("%+v, logged:\n%s", s.Stats(), log.String())
		}
	})
}
